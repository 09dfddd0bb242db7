"""The JVM as a child that does not outlive its command, whatever ends that.

pyspark starts it and relies on the JVM's seeing its stdin close. That fails where the JVM cannot
tell pyspark its port: where the disk is full, or pyspark has given up and removed the folder for
it. The JVM's main thread dies of it then, its gateway's threads go on for ever, and so does the
wait for the port. So a start that goes wrong in any way is ended here, by its process id, and on
Linux the kernel ends the JVM with us.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crawl.clock import SystemClock

START_S = 180.0
"""How long a JVM may take to tell its port: seconds are usual, on a busy machine ten."""
_END_S = 5.0
_FAILED = b'Exception in thread "main"'
_LOOK_EVERY_S = 1.0
_PR_SET_PDEATHSIG = 1
_SYSTEM = SystemClock()


class JvmProcess(subprocess.Popen[bytes]):
    """What pyspark starts. While it starts, `poll` also tells that it will never come up."""

    def __init__(
        self,
        command: list[str],
        *,
        log: Path,
        start_s: float = START_S,
        monotonic: Callable[[], float] = _SYSTEM.monotonic,
        preexec_fn: Callable[[], object] | None = None,
        **others: Any,
    ) -> None:
        self.trouble = ""
        """Why it was ended before it was up."""
        self._is_starting = True
        self._log = log
        self._log_before = log.stat().st_size if log.exists() else 0
        self._monotonic = monotonic
        self._start_s = start_s
        self._until = monotonic() + start_s
        self._next_look = monotonic() + _LOOK_EVERY_S
        super().__init__(command, preexec_fn=_with_parent(preexec_fn), **others)

    def poll(self) -> int | None:
        code = super().poll()
        if not self._is_starting:
            return code
        if code is None and self._is_hopeless():
            self.end()
            code = super().poll()
        return 1 if code == 0 else code  # pyspark takes 0 for a JVM that still starts

    def is_up(self) -> None:
        """From here on it may take any time."""
        self._is_starting = False

    def end(self) -> None:
        """Ends it, kindly at first."""
        self._is_starting = False
        if self.stdin is not None:
            with suppress(OSError):
                self.stdin.close()
        self.terminate()
        try:
            self.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()

    def _is_hopeless(self) -> bool:
        now = self._monotonic()
        if now >= self._until:
            self.trouble = f"it was not up after {self._start_s:g} s"
        elif now >= self._next_look:
            self._next_look = now + _LOOK_EVERY_S
            if self._says_so():
                self.trouble = "it failed as it started"
        return bool(self.trouble)

    def _says_so(self) -> bool:
        try:
            with self._log.open("rb") as log:
                log.seek(self._log_before)
                return _FAILED in log.read()
        except OSError:
            return False


@contextmanager
def watched_start(log: Path, *, start_s: float = START_S) -> Iterator[list[JvmProcess]]:
    """Has pyspark start the JVM as a JvmProcess, which is in the list from then on; ends it
    where the block fails in any way, by Ctrl-C too."""
    from pyspark import java_gateway

    pyspark_s: Any = java_gateway  # its own name for Popen
    started: list[JvmProcess] = []

    def start(command: list[str], **others: Any) -> JvmProcess:
        started.append(JvmProcess(command, log=log, start_s=start_s, **others))
        return started[-1]

    before = pyspark_s.Popen
    pyspark_s.Popen = start
    try:
        yield started
    except BaseException:
        for process in started:
            process.end()
        raise
    finally:
        pyspark_s.Popen = before
    for process in started:
        process.is_up()


def _with_parent(first: Callable[[], object] | None) -> Callable[[], object] | None:
    """What the child does before it becomes the JVM: has the kernel tell it when we end. Linux
    takes the end of the thread that started it for ours, so only the main thread may ask."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return first
    prctl = ctypes.CDLL(None).prctl  # found here: between fork and exec little may be done
    parent = os.getpid()

    def prepare() -> None:
        if first is not None:
            first()
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it ended in this very moment
            os._exit(1)

    return prepare
