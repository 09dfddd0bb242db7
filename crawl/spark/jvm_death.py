"""A JVM that is gone, in whatever way Python's side of Spark tells it.

py4j raises a plain Py4JError, a Py4JNetworkError, an error of the connection or an EOFError,
depending on what it was about to do. Whether the JVM lives is asked of its port; and what it died
of, of its exit code, where we have started it, and of what it wrote.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crawl.errors import EnvironmentFault

_DIES_WITHIN_S = 5.0
"""A process that is ending closes its connections first."""
_TAIL_BYTES = 200_000
_MEMORY = re.compile(r"OutOfMemoryError: .+|insufficient memory.*|Cannot allocate memory.*")
_NO_CAUSE = re.compile(
    r"\s*at |\s*\.\.\. \d+ more|WARNING: |WARN |Picked up |Using Spark's |Setting default log"
    r"|To adjust logging|NOTE: |Error: A fatal exception has occurred\. Program will exit"
    r"|Error: Could not create the Java Virtual Machine|Error occurred during init"
    r"|#\s*$|\[[\d.]+s\]\[warning\]|:: "
    r"|\S+ \S+ (?:WARN|INFO) "
)
"""Lines that a JVM writes in good health too, or that tell less than the one before."""
_TELLING = re.compile(
    r"Exception|[Ee]rror|[Ii]nvalid|[Uu]nrecogni[sz]ed|[Ff]ailed|fatal|not found|[Cc]ould not"
    r"|[Tt]oo small"
)


class JVMDied(EnvironmentFault):
    """The JVM ended in the middle of a command: killed, or out of memory."""

    def __init__(self, cause: str = "", then: str = "run the same command again") -> None:
        died = f"Spark's JVM died: {cause}" if cause else "Spark's JVM died"
        super().__init__(f"{died}; {then}")
        self.cause = cause

    def followed_by(self, then: str) -> JVMDied:
        """The same, with other advice."""
        return JVMDied(self.cause, then)


@contextmanager
def jvm_deaths_told(gateway: Any = None) -> Iterator[None]:
    """Raises JVMDied for whatever is raised because the JVM is gone."""
    try:
        yield
    except Exception as error:
        died = death_of(error, gateway)
        if died is None:
            raise
        raise died from error


def death_of(error: BaseException, gateway: Any = None) -> JVMDied | None:
    """What `error` tells of a JVM that is gone; None where it means something else."""
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

    if isinstance(error, Py4JJavaError) or not isinstance(
        error, (Py4JError, ConnectionError, EOFError)
    ):
        return None  # the JVM has spoken
    gateway = _current_gateway() if gateway is None else gateway
    if gateway is not None and _is_gone(gateway):
        return JVMDied(_cause(gateway))
    # what Python's side says when it has nobody to talk to any more
    return JVMDied() if isinstance(error, ConnectionError) else None


@contextmanager
def deaths_ignored() -> Iterator[None]:
    """Is around the last calls to a JVM that may be gone."""
    from py4j.protocol import Py4JError

    with warnings.catch_warnings(), suppress(Py4JError, ConnectionError, EOFError):
        warnings.simplefilter("ignore", RuntimeWarning)  # pyspark's own, of a JVM that is gone
        yield


def forget_dead_jvm() -> None:
    """Has pyspark start a new JVM next time, where its own is gone."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway: Any = SparkContext._gateway
    if gateway is None or not _is_gone(gateway):
        return
    for owner, names in (
        (SparkContext, ("_gateway", "_jvm", "_active_spark_context")),
        (SparkSession, ("_instantiatedSession", "_activeSession")),
    ):
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, None)
    with suppress(Exception):
        gateway.shutdown()


def cause_of_end(code: int | None, log: Path | None, log_begin: int = 0) -> str:
    """What a JVM ended of, by its exit code and its log from `log_begin` on."""
    lines = _lines(log, log_begin)
    memory = [match.group() for line in lines if (match := _MEMORY.search(line))]
    crash = log.with_suffix(".crash.log") if log else None
    if crash is not None and crash.exists():
        why = f"it crashed, see {crash}"
    elif memory:
        why = f"out of memory ({memory[-1].strip()})"
    elif code is not None and code < 0:
        why = f"killed by {_signal_name(-code)}"
        if -code == signal.SIGKILL:
            why += " (out of memory?)"
    else:
        words = last_words(lines) or "it said nothing"
        ended = "" if code is None else f"exit code {code}"
        why = ": ".join(part for part in (ended, words) if part)
    return f"{why}; see {log}" if log else why


def last_words(lines: list[str]) -> str:
    """The line of a JVM's output that tells a user most."""
    meant = [line.strip() for line in lines if line.strip() and not _NO_CAUSE.match(line)]
    telling = [line for line in meant if _TELLING.search(line)]
    return (telling or meant or [""])[-1]


def last_line(log: Path, begin: int = 0) -> str:
    """`last_words` of a log."""
    return last_words(_lines(log, begin)) or "it said nothing"


def _current_gateway() -> Any:
    from pyspark import SparkContext

    return SparkContext._gateway


def _is_gone(gateway: Any) -> bool:
    parameters: Any = gateway.gateway_parameters
    try:
        with socket.create_connection((parameters.address, parameters.port), timeout=3.0):
            return False
    except OSError:
        return True


def _cause(gateway: Any) -> str:
    attributes = vars(gateway)
    process, log = attributes.get("proc"), attributes.get("log_file")
    code = None
    if isinstance(process, subprocess.Popen):
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(_DIES_WITHIN_S)
    return cause_of_end(code, log, getattr(process, "log_begin", 0))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _lines(log: Path | None, begin: int) -> list[str]:
    if log is None:
        return []
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(begin, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
