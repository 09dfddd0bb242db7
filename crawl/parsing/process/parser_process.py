"""ParserProcess: a child in which pages are parsed, and the pipes to it.

A child that is done with one task waits for the next one of this process that has the same
plan: to start one takes as long as a few hundred pages. It ends with this process, whose
end of its pipe is closed then.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from crawl.clock import Clock
from crawl.errors import EnvironmentFault
from crawl.model.parse import ParseStatus
from crawl.parsing.document import PageFailure
from crawl.parsing.process.messages import NO_PAGE, PROGRESS, PeerGone, receive, send

_GRACE_S = 5.0
"""The child's own alarm comes first; this is for a child that has switched it off."""
_LOOK_EVERY_S = 1.0
_PATIENCE_S = 2.0
_PIPE_BYTES = 1 << 20
"""The most that Linux lets anybody have."""

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from crawl.parsing.process.child import main; main(int(sys.argv[2]))"
)
_ENVIRONMENT = {
    # the address space is limited: allocators and threads must not reserve it in advance
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class ParserProcess:
    """The process and the pipes to it. It is started at once, and loads while others work."""

    def __init__(self, plan: bytes, clock: Clock) -> None:
        self.plan = plan
        self.has_answered = False
        self.owner = os.getpid()
        """Process id of the parent: a fork of it has the same pipes, and must not use them."""
        self._clock = clock
        self._batch_sent_at = clock.monotonic()
        self._is_overdue = False
        self._startup_errors: IO[bytes] | None = tempfile.TemporaryFile()  # noqa: SIM115, it stays open
        """Its stderr until it is ready; None from then on."""
        with tempfile.TemporaryFile() as shared:
            shared.write(PROGRESS.pack(NO_PAGE, 0.0))
            shared.flush()
            self._progress = mmap.mmap(shared.fileno(), PROGRESS.size)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path), str(shared.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._startup_errors,
                pass_fds=[shared.fileno()],
                env={**os.environ, **_ENVIRONMENT},
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.requests: IO[bytes] = self._process.stdin
        self.replies: IO[bytes] = self._process.stdout
        for pipe in (self.requests, self.replies):
            _widen(pipe)
        with suppress(PeerGone):  # which `wait_until_ready` meets, too
            send(self.requests, [plan])

    def wait_until_ready(self) -> None:
        """Waits until it has loaded all it needs; to be called before pages are sent."""
        if self._startup_errors is None:
            return
        try:
            receive(self.replies)
        except PeerGone:
            self.end()
            self._startup_errors.seek(0)
            reason = self._startup_errors.read().decode(errors="replace").strip().split("\n")[-1]
            raise EnvironmentFault(f"the parser's process cannot be started: {reason}") from None
        finally:
            self._startup_errors.close()
            self._startup_errors = None

    def can_serve(self, plan: bytes) -> bool:
        """Whether it runs and parses by the plan."""
        return self.plan == plan and self.owner == os.getpid() and self._process.poll() is None

    def clear_progress(self) -> None:
        """Notes before a batch that no page is under way."""
        self._batch_sent_at = self._clock.monotonic()
        PROGRESS.pack_into(self._progress, 0, NO_PAGE, self._batch_sent_at)

    def progress(self) -> tuple[int, float]:
        """The page under way and when it began."""
        page, began = PROGRESS.unpack_from(self._progress)
        return page, began

    def wait(self, timeout: float, on_page: Callable[[int], None]) -> None:
        """Waits for a reply; PeerGone where there will be none. `on_page` is called now and then
        with the page under way."""
        poll = select.poll()
        poll.register(self.replies, select.POLLIN)
        while not poll.poll(_LOOK_EVERY_S * 1000):
            if self._process.poll() is not None and not poll.poll(0):
                raise PeerGone  # somebody else holds its end of the pipe
            page, page_began = self.progress()
            if page != NO_PAGE:
                on_page(page)
            began = max(page_began, self._batch_sent_at)
            if timeout > 0 and self._clock.monotonic() - began > timeout + _GRACE_S:
                self._is_overdue = True
                self._process.kill()

    def failure(self) -> PageFailure:
        """Why the process ended; ends it where it has not."""
        code = self.end()
        if self._is_overdue or code == -signal.SIGALRM:
            return PageFailure(ParseStatus.TIMEOUT, "the parser did not come to an end in time")
        if code == -signal.SIGKILL:
            return PageFailure(ParseStatus.MEMORY, "the system was short of memory")
        if code is None:
            return PageFailure(ParseStatus.CRASHED, "the parser's process went astray")
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return PageFailure(ParseStatus.CRASHED, f"the parser's process died ({name})")

    def end(self) -> int | None:
        """Ends the process; its exit code, None where it had to be killed."""
        for pipe in (self.requests, self.replies):
            with suppress(OSError):
                pipe.close()
        try:
            return self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None


def _widen(pipe: IO[bytes]) -> None:
    """A batch is some megabytes: by 64 kB, which pipes hold of themselves, both processes
    would be woken once a page. Where it is forbidden, or unknown, it goes on like that."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class _IdlePool:
    """Idle children of this process, all of one plan."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[ParserProcess] = []
        self._most = max(2, os.cpu_count() or 1)

    def take(self, plan: bytes) -> ParserProcess | None:
        with self._lock:
            usable = [child for child in self._waiting if child.can_serve(plan)]
            if usable:
                self._waiting.remove(usable[-1])
                return usable[-1]
            others, self._waiting = self._waiting, []
        for child in others:
            child.end()  # of an earlier plan
        return None

    def put(self, child: ParserProcess) -> None:
        """Keeps a child that owes no reply for another task."""
        with self._lock:
            has_room = len(self._waiting) < self._most
            if has_room:
                self._waiting.append(child)
        if not has_room:
            child.end()

    def end_all(self) -> None:
        """Ends all idle children."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for child in waiting:
            child.end()


_idle_pool = _IdlePool()
atexit.register(_idle_pool.end_all)
release = _idle_pool.put
end_idle = _idle_pool.end_all


def acquire(plan: bytes, clock: Clock) -> ParserProcess:
    """A child for the plan: an idle one, or a new one, which may not be ready yet."""
    return _idle_pool.take(plan) or ParserProcess(plan, clock)
