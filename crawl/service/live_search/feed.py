"""The process that writes what is searched live, and the way to it: a bounded queue. What does not
fit is left out for now, and read from its segment as soon as that is published."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.parsing.document import ParsedBatch
from crawl.parsing.process.messages import PeerGone, pack_table, receive, send
from crawl.search.settings import SEARCH_STORED_CHARACTERS
from crawl.service.live_search.child import ADD, MISS, READ, REMOVE
from crawl.service.open_places import place_of
from crawl.service.settings import SEARCH_SECONDS
from crawl.storage.crawl_dir import CrawlDir

MAX_BYTES = 64 << 20
"""Of pages that wait for the process."""
_START = (
    # before what takes a while to load: a signal may come meanwhile
    "import signal; [signal.signal(each, signal.SIG_IGN) for each in"
    " (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)];"
    " import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from crawl.service.live_search.child import main; main()"
)
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
_PATIENCE_S = 30.0
_AGAIN_S = 5.0
"""After a process that died, the next one is started after this: it may die of the same."""

_log = logging.getLogger(__name__)


class SearchFeed:
    """Given pages by one thread."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        folder: Path,
        config: Config,
        clock: Clock,
        counters: Counters,
        on_commit: Callable[[], None],
    ) -> None:
        self._plan = pickle.dumps(
            (
                *(crawl_dir.address, str(folder)),
                *(config[SEARCH_STORED_CHARACTERS], config[SEARCH_SECONDS]),
                place_of(folder),
            )
        )
        self._clock = clock
        self._counters = counters
        self._on_commit = on_commit
        self._waiting: deque[list[Any]] = deque()
        self._bytes = 0
        self._missing: set[str] = set()
        """Open segments of which pages were left out."""
        self._sent = 0
        """Messages, to the process that runs."""
        self._uncommitted: deque[tuple[int, str]] = deque()
        """Segments of pages that it has and has not committed, with the numbers of messages."""
        self._since: deque[float] = deque()
        """When the pages of these, and of those that wait to be sent, were given."""
        self._changed = Condition()
        self._is_stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._run, name="service-search", daemon=True)

    def start(self) -> None:
        """Starts the process, which first reads what segments have that it has not."""
        self._thread.start()

    def close(self) -> None:
        """Has the process take what waits and commit it, and ends it."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def behind_s(self) -> float:
        """For how long the first of the pages that cannot be found yet has waited."""
        with self._changed:
            return self._clock.monotonic() - self._since[0] if self._since else 0.0

    def add(self, batch: ParsedBatch, segment: str) -> None:
        """Has pages added that were parsed, and are in an open segment."""
        tables = pack_table(batch.parse_data), pack_table(batch.parse_text)
        message = [ADD, *tables, segment.encode()]
        size = _size(message)
        with self._changed:
            if self._bytes + size <= MAX_BYTES:
                self._bytes += size
                self._put(message)
            else:
                self._counters["search.left_for_later"] += batch.parse_data.num_rows
                if segment not in self._missing:
                    self._missing.add(segment)
                    self._put([MISS, segment.encode()])

    def remove(self, urls: Sequence[str]) -> None:
        """Has pages removed that are gone."""
        with self._changed:
            self._put([REMOVE, json.dumps(urls).encode()])

    def published(self, segment: str) -> None:
        """Says that a segment is published: what was left out of it is read now."""
        with self._changed:
            if segment in self._missing:
                self._missing.discard(segment)
                self._put([READ, segment.encode()])

    def _put(self, message: list[Any]) -> None:
        """Under the lock."""
        if message[0] in (ADD, READ):
            self._since.append(self._clock.monotonic())
        self._waiting.append(message)
        self._changed.notify()

    def _run(self) -> None:
        while not self._is_stopped:
            try:
                self._feed_a_process()
            except (PeerGone, OSError) as error:
                self._counters["search.restarts"] += 1
                why = error if self._process is None else f"exit code {self._end_process()}"
                _log.warning("the process that writes what is searched has ended: %s", why)
                with self._changed:
                    self._miss_what_it_had()
                    self._changed.wait_for(lambda: self._is_stopped, _AGAIN_S)
            finally:
                self._end_process()

    def _feed_a_process(self) -> None:
        self._process = process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
        )
        assert process.stdin is not None
        listener = Thread(target=self._listen, args=(process,), name="service-search-commits")
        listener.daemon = True
        listener.start()
        send(process.stdin, [self._plan])
        while (message := self._next(process)) is not None:
            send(process.stdin, message)

    def _next(self, process: subprocess.Popen[bytes]) -> list[Any] | None:
        """The next message; None when all is sent that will be."""
        with self._changed:
            while not self._waiting:
                if process.poll() is not None:
                    raise PeerGone(f"exit code {process.returncode}")
                if self._is_stopped:
                    return None
                self._changed.wait(1.0)
            message = self._waiting.popleft()
            self._sent += 1
            if message[0] == ADD:
                self._bytes -= _size(message)
            if message[0] in (ADD, READ):
                self._uncommitted.append((self._sent, message[-1].decode()))
            return message

    def _miss_what_it_had(self) -> None:
        """A process has died with what it had not committed: the next one reads it from segments,
        those that are open as soon as they are published. Under the lock."""
        names = dict.fromkeys(name for _, name in self._uncommitted)
        first = self._since[0] if self._since else 0.0
        for _ in self._uncommitted:
            self._since.popleft()
        self._since.extendleft([first] * len(names))
        self._uncommitted.clear()
        self._sent = 0
        self._missing.update(names)
        for name in names:
            self._waiting.appendleft([READ, name.encode()])
            self._waiting.appendleft([MISS, name.encode()])

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with suppress(PeerGone, OSError, ValueError):
            while True:
                committed = int(receive(process.stdout)[0])
                with self._changed:
                    while self._uncommitted and self._uncommitted[0][0] <= committed:
                        self._uncommitted.popleft()
                        self._since.popleft()
                self._on_commit()

    def _end_process(self) -> int | None:
        """Waits for the process to commit what it has; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(OSError):
            process.stdin and process.stdin.close()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return process.returncode


def _size(message: Sequence[Any]) -> int:
    return sum(len(memoryview(part)) for part in message)
