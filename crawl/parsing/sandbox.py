"""Sandbox: parses pages in a child process that may hang, crash or eat memory.

A page at which the child ends is recorded as failed, with the reason; the child is started
anew and all other pages are parsed. The child is a fresh interpreter and no fork: whoever
parses may have threads, and may be a Spark worker.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import Clock, SystemClock
from crawl.errors import EnvironmentFault
from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.parse import ParseStatus
from crawl.model.tables import CONTENT
from crawl.parsing.document import ParsedBatch, Verdict, joined
from crawl.parsing.frames import (
    NO_PAGE,
    PROGRESS,
    Hangup,
    Refused,
    pack_request,
    receive,
    send,
    unpack_reply,
)
from crawl.parsing.plan import Parsing
from crawl.parsing.settings import PARSER_TIMEOUT

_BATCH_PAGES = 64
_BATCH_BYTES = 8 << 20
"""A batch is what is parsed again when its child dies: not too much."""
_GRACE_S = 5.0
"""The child's own alarm comes first; this is for a child that has switched it off."""
_LOOK_EVERY_S = 1.0
_PATIENCE_S = 2.0

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from crawl.parsing.child import main; main(int(sys.argv[2]))"
)
_ENVIRONMENT = {
    # the address space is limited: allocators and threads must not reserve it in advance
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class _Fault:
    """How and at which page of a batch the child ended."""

    verdict: Verdict
    page: int | None
    """None where no single page can be blamed."""


class Sandbox:
    """Parses in a child, which is started when it is first needed. For one thread."""

    def __init__(self, parsing: Parsing, clock: Clock | None = None) -> None:
        self._plan = pickle.dumps(parsing)
        self._timeout: float = parsing.config[PARSER_TIMEOUT]
        self._clock = clock or SystemClock()
        self._child: _Child | None = None
        self.starts = 0
        """How often a child was started."""

    def parse(self, contents: Sequence[Content]) -> ParsedBatch:
        """The rows of all pages, in their order; those that ended a child among them."""
        return self.parse_table(content_table(list(contents)))

    def parse_table(self, contents: pa.Table) -> ParsedBatch:
        """The same for rows of a content table."""
        contents = _needed(contents)
        return joined([self._settled(batch, {}) for batch in _batches(contents)])

    def close(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _settled(self, batch: pa.Table, condemned: dict[int, Verdict]) -> ParsedBatch:
        """The batch's rows. After a fault what comes before the page at fault is parsed
        again, the page is condemned, and the rest follows."""
        answer = self._exchange(batch, condemned)
        if isinstance(answer, ParsedBatch):
            return answer
        parts: list[tuple[pa.Table, dict[int, Verdict]]]
        if answer.page is None and batch.num_rows > 1:
            middle = batch.num_rows // 2  # it is one of them: each half is tried by itself
            parts = [(batch.slice(0, middle), {}), (batch.slice(middle), {})]
        elif condemned:
            raise EnvironmentFault(
                f"{batch['url'][0].as_py()}: the parser's process fails even if it is not to"
                f" parse the page: {answer.verdict.message}"
            )
        else:
            page = answer.page or 0
            parts = [
                (batch.slice(0, page), {}),
                (batch.slice(page, 1), {0: answer.verdict}),
                (batch.slice(page + 1), {}),
            ]
        settled = joined([self._settled(part, told) for part, told in parts if part.num_rows])
        settled.counters["parser_restarts"] += 1
        return settled

    def _exchange(self, batch: pa.Table, condemned: dict[int, Verdict]) -> ParsedBatch | _Fault:
        if self._child is None:
            self._child = _Child(self._plan, self._clock)
            self.starts += 1
        child = self._child
        try:
            child.forget()
            send(child.orders, pack_request(batch, condemned))
            child.wait(self._timeout)
            reply = unpack_reply(receive(child.answers))
        except Refused as refused:
            self.close()
            return _Fault(refused.verdict, None)
        except (Hangup, OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            # dead, or beside itself: what it says cannot be understood
            self._child = None
            page = child.progress()[0]
            return _Fault(child.verdict(), page if 0 <= page < batch.num_rows else None)
        if reply.is_worn:
            self.close()
        return reply.batch


class _Child:
    """The process and the pipes to it."""

    def __init__(self, plan: bytes, clock: Clock) -> None:
        self._clock = clock
        self._asked = clock.monotonic()
        self._is_late = False
        with tempfile.TemporaryFile() as shared, tempfile.TemporaryFile() as complaints:
            shared.write(PROGRESS.pack(NO_PAGE, 0.0))
            shared.flush()
            self._progress = mmap.mmap(shared.fileno(), PROGRESS.size)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path), str(shared.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                pass_fds=[shared.fileno()],
                env={**os.environ, **_ENVIRONMENT},
            )
            assert self._process.stdin is not None and self._process.stdout is not None
            self.orders: IO[bytes] = self._process.stdin
            self.answers: IO[bytes] = self._process.stdout
            try:
                send(self.orders, [plan])
                receive(self.answers)
            except Hangup:
                self.end()
                complaints.seek(0)
                told = complaints.read().decode(errors="replace").strip().split("\n")[-1]
                raise EnvironmentFault(f"the parser's process cannot be started: {told}") from None

    def forget(self) -> None:
        """Before a batch: no page is under way."""
        self._asked = self._clock.monotonic()
        PROGRESS.pack_into(self._progress, 0, NO_PAGE, self._asked)

    def progress(self) -> tuple[int, float]:
        """The page under way and when it began."""
        page, began = PROGRESS.unpack_from(self._progress)
        return page, began

    def wait(self, timeout: float) -> None:
        """Until there is an answer or an end."""
        poll = select.poll()
        poll.register(self.answers, select.POLLIN)
        while not poll.poll(_LOOK_EVERY_S * 1000):
            began = max(self.progress()[1], self._asked)
            if timeout > 0 and self._clock.monotonic() - began > timeout + _GRACE_S:
                self._is_late = True
                self._process.kill()

    def verdict(self) -> Verdict:
        """Why it ended; sees to it that it does."""
        code = self.end()
        if self._is_late or code == -signal.SIGALRM:
            return Verdict(ParseStatus.TIMEOUT, "the parser did not come to an end in time")
        if code == -signal.SIGKILL:
            return Verdict(ParseStatus.MEMORY, "the system was short of memory")
        if code is None:
            return Verdict(ParseStatus.CRASHED, "the parser's process went astray")
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Verdict(ParseStatus.CRASHED, f"the parser's process died ({name})")

    def end(self) -> int | None:
        """Lets it go; its exit code, None where it had to be killed."""
        for pipe in (self.orders, self.answers):
            with suppress(OSError):
                pipe.close()
        try:
            return self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None


def _needed(contents: pa.Table) -> pa.Table:
    """What parsers never see need not travel."""
    nothing = pa.repeat(pa.scalar(b"", pa.binary()), contents.num_rows)
    for name in ("request_headers", "response_headers"):
        place = CONTENT.names.index(name)
        contents = contents.set_column(place, contents.schema.field(name), nothing)
    return contents


def _batches(contents: pa.Table) -> Iterator[pa.Table]:
    """Slices of some pages and some bytes; one at least, so that there are always rows."""
    ends = np.cumsum(pc.binary_length(contents["content"]).to_numpy())
    start, size = 0, contents.num_rows
    while start < size:
        before = int(ends[start - 1]) if start else 0
        within = int(np.searchsorted(ends, before + _BATCH_BYTES, "right"))
        stop = min(max(start + 1, within), start + _BATCH_PAGES, size)
        yield contents.slice(start, stop - start)
        start = stop
    if size == 0:
        yield contents
