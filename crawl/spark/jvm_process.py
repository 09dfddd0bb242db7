"""The JVM as a child that does not outlive its command, whatever ends that.

pyspark starts it and relies on the JVM's seeing its stdin close. That fails where the JVM cannot
tell pyspark its port: where the disk is full, or pyspark has given up and removed the folder for
it. The JVM's main thread dies of it then, its gateway's threads go on for ever, and so does the
wait for the port. So a start that goes wrong in any way is ended here, by its process id, and on
Linux the kernel ends the JVM with us. A command that ends in good order waits for its JVM, which
may write an archive of classes as it exits (class_archive.py): that took an 820 MB process half a
minute and more on a busy machine, after its command was gone.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import ref

from crawl.clock import SystemClock
from crawl.spark.jvm_death import cause_of_end, last_line

START_S = 180.0
"""How long a JVM may take to tell its port: seconds are usual, on a busy machine ten."""
_END_S = 5.0
_EXIT_S = 10.0
_ARCHIVE_S = 60.0
"""How long a command waits at its end for a JVM that exits; and for one that writes an archive."""
_QUIET_S = 1.0
_FAILED = b'Exception in thread "main"'
_LOOK_EVERY_S = 1.0
_PR_SET_PDEATHSIG = 1
_SYSTEM = SystemClock()
_ARCHIVING = "-XX:ArchiveClassesAtExit="

_log = logging.getLogger(__name__)


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
        self.log_begin = log.stat().st_size if log.exists() else 0
        self._monotonic = monotonic
        self._start_s = start_s
        self._until = monotonic() + start_s
        self._next_look = monotonic() + _LOOK_EVERY_S
        self.is_archiving = any(_ARCHIVING in word for word in map(str, command))
        """Whether it writes down its classes as it exits, which takes many seconds."""
        # Nobody waits for that after a kill.
        last_word = signal.SIGKILL if self.is_archiving else signal.SIGTERM
        prepare = _with_parent(preexec_fn, last_word)
        start = partial(super().__init__, command, preexec_fn=prepare, **others)
        _in_lasting_thread(start)
        self.owner = os.getpid()
        """Who started it: a fork of that has no business with it."""
        # A fork has the pipe too, and would keep the JVM from seeing it close.
        os.register_at_fork(after_in_child=partial(_close_stdin_of, ref(self)))

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

    def cause_of_end(self) -> str:
        """Why it never came up, for the user."""
        if self.trouble:  # it was ended here
            return f"{self.trouble}: {last_line(self._log, self.log_begin)}; see {self._log}"
        return cause_of_end(self.returncode, self._log, self.log_begin)

    def end_with_command(self) -> None:
        """Has it exit at the end of the command that started it, and waits for that, not for
        ever; Ctrl-C ends it at once."""
        if os.getpid() != self.owner or self.poll() is not None:
            return
        self.close_stdin()
        patience_s = _ARCHIVE_S if self.is_archiving else _EXIT_S
        try:
            try:
                self.wait(_QUIET_S)
            except subprocess.TimeoutExpired:
                if self.is_archiving:
                    _log.warning(
                        "Spark keeps what it has loaded, once, for quicker starts: up to %.0f s;"
                        " Ctrl-C leaves it",
                        patience_s,
                    )
                self.wait(patience_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self.kill()
            self.wait()

    def close_stdin(self) -> None:
        """Tells it that nobody needs it any more."""
        if self.stdin is not None:
            with suppress(OSError):
                self.stdin.close()

    def end(self) -> None:
        """Ends it, kindly at first."""
        self._is_starting = False
        self.close_stdin()
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
                log.seek(self.log_begin)
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
        atexit.register(_end_in_order, process)


def _end_in_order(process: JvmProcess) -> None:
    """What is left to do when the program ends: a session that nobody stopped first."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None and process.poll() is None and os.getpid() == process.owner:
        with suppress(Py4JError, OSError, EOFError):
            context.stop()
    process.end_with_command()


def _in_lasting_thread(start: Callable[[], None]) -> None:
    """Calls `start` in a thread that ends when the program does: Linux takes the end of the thread
    that started a child for the end of its parent."""
    if threading.current_thread() is threading.main_thread():
        start()
        return
    faults: list[BaseException] = []
    is_started = threading.Event()

    def work() -> None:
        try:
            start()
        except BaseException as error:
            faults.append(error)
        is_started.set()
        if not faults:
            threading.Event().wait()

    threading.Thread(target=work, name="jvm-parent", daemon=True).start()
    is_started.wait()
    if faults:
        raise faults[0]


def _close_stdin_of(reference: ref[JvmProcess]) -> None:
    process = reference()
    if process is not None:
        process.close_stdin()


def _with_parent(
    first: Callable[[], object] | None, last_word: signal.Signals
) -> Callable[[], object] | None:
    """What the child does before it becomes the JVM: has the kernel send it that signal when we
    end."""
    if sys.platform != "linux":
        return first
    prctl = ctypes.CDLL(None).prctl  # found here: between fork and exec little may be done
    parent = os.getpid()

    def prepare() -> None:
        if first is not None:
            first()
        prctl(_PR_SET_PDEATHSIG, last_word, 0, 0, 0)
        if os.getppid() != parent:  # it ended in this very moment
            os._exit(1)

    return prepare
