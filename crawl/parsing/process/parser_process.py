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
        """A fork of ours has the same pipes, and must leave them alone."""
        self._clock = clock
        self._asked = clock.monotonic()
        self._is_late = False
        self._complaints: IO[bytes] | None = tempfile.TemporaryFile()  # noqa: SIM115, it stays open
        """What it says before it is ready; None from then on."""
        with tempfile.TemporaryFile() as shared:
            shared.write(PROGRESS.pack(NO_PAGE, 0.0))
            shared.flush()
            self._progress = mmap.mmap(shared.fileno(), PROGRESS.size)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path), str(shared.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                pass_fds=[shared.fileno()],
                env={**os.environ, **_ENVIRONMENT},
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.orders: IO[bytes] = self._process.stdin
        self.answers: IO[bytes] = self._process.stdout
        for pipe in (self.orders, self.answers):
            _widen(pipe)
        with suppress(PeerGone):  # which `get_ready` meets, too
            send(self.orders, [plan])

    def get_ready(self) -> None:
        """Waits until it has loaded all it needs: to be called before pages are given to it."""
        if self._complaints is None:
            return
        try:
            receive(self.answers)
        except PeerGone:
            self.end()
            self._complaints.seek(0)
            told = self._complaints.read().decode(errors="replace").strip().split("\n")[-1]
            raise EnvironmentFault(f"the parser's process cannot be started: {told}") from None
        finally:
            self._complaints.close()
            self._complaints = None

    def is_fit_for(self, plan: bytes) -> bool:
        """Whether it can take on pages to be parsed by the plan."""
        return self.plan == plan and self.owner == os.getpid() and self._process.poll() is None

    def forget(self) -> None:
        """Before a batch: no page is under way."""
        self._asked = self._clock.monotonic()
        PROGRESS.pack_into(self._progress, 0, NO_PAGE, self._asked)

    def progress(self) -> tuple[int, float]:
        """The page under way and when it began."""
        page, began = PROGRESS.unpack_from(self._progress)
        return page, began

    def wait(self, timeout: float) -> None:
        """Until there is an answer, or PeerGone where there will be none."""
        poll = select.poll()
        poll.register(self.answers, select.POLLIN)
        while not poll.poll(_LOOK_EVERY_S * 1000):
            if self._process.poll() is not None and not poll.poll(0):
                raise PeerGone  # somebody else holds its end of the pipe
            began = max(self.progress()[1], self._asked)
            if timeout > 0 and self._clock.monotonic() - began > timeout + _GRACE_S:
                self._is_late = True
                self._process.kill()

    def verdict(self) -> PageFailure:
        """Why it ended; sees to it that it does."""
        code = self.end()
        if self._is_late or code == -signal.SIGALRM:
            return PageFailure(ParseStatus.TIMEOUT, "the parser did not come to an end in time")
        if code == -signal.SIGKILL:
            return PageFailure(ParseStatus.MEMORY, "the system was short of memory")
        if code is None:
            return PageFailure(ParseStatus.CRASHED, "the parser's process went astray")
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return PageFailure(ParseStatus.CRASHED, f"the parser's process died ({name})")

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


def _widen(pipe: IO[bytes]) -> None:
    """A batch is some megabytes: by 64 kB, which pipes hold of themselves, both processes
    would be woken once a page. Where it is forbidden, or unknown, it goes on like that."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class _Idle:
    """The children of this process that wait for work, all of one plan."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[ParserProcess] = []
        self._most = max(2, os.cpu_count() or 1)

    def take(self, plan: bytes) -> ParserProcess | None:
        with self._lock:
            fitting = [child for child in self._waiting if child.is_fit_for(plan)]
            if fitting:
                self._waiting.remove(fitting[-1])
                return fitting[-1]
            others, self._waiting = self._waiting, []
        for child in others:
            child.end()  # of a plan that is a thing of the past
        return None

    def put(self, child: ParserProcess) -> None:
        with self._lock:
            has_room = len(self._waiting) < self._most
            if has_room:
                self._waiting.append(child)
        if not has_room:
            child.end()

    def end_all(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for child in waiting:
            child.end()


_idle = _Idle()
atexit.register(_idle.end_all)


def borrow(plan: bytes, clock: Clock) -> ParserProcess:
    """A child for that plan: one that waits, or a new one, which may not be ready yet."""
    return _idle.take(plan) or ParserProcess(plan, clock)


def give_back(child: ParserProcess) -> None:
    """Lets a child that has answered all it was asked wait for another task."""
    _idle.put(child)


def end_idle() -> None:
    """Ends the children that wait."""
    _idle.end_all()
