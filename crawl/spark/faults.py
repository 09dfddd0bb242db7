"""What goes wrong in tasks, on its way from a worker to the user.

A CrawlError that is the same everywhere, as what the user did wrong is, travels as a value and is
raised anew by the driver: Spark would try the task three times more. One that may pass
(`CrawlError.may_pass`), as of stores and disks, is an exception, so that Spark tries the task
again, if it can elsewhere; where it gives up, the driver finds the fault in what Spark says and
raises that. Whatever else a task raises is tried again as well, and in the end told in one line.
"""

from __future__ import annotations

import base64
import gc
import pickle
import re
import secrets
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from crawl.errors import CrawlError
from crawl.spark.jvm_death import death_of
from crawl.spark.session import log_file_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Task = TypeVar("Task")
Result = TypeVar("Result")


class TaskError(CrawlError):
    """A task failed for no reason we know, as often as Spark tried it."""


class _TaskTraceError(Exception):
    """Where in a task an error was raised, as text: the frames stayed in the worker."""


class ChangedRows(TaskError):
    """Rows that were lost on their way, and were others when they were sent once more."""

    may_pass = True


@dataclass(frozen=True, slots=True)
class Fault:
    """A CrawlError on its way from a worker to the driver."""

    kind: type[CrawlError]
    message: str
    attributes: dict[str, Any]
    trace: str

    @classmethod
    def of(cls, error: CrawlError) -> Fault:
        attributes = {name: value for name, value in vars(error).items() if _can_travel(value)}
        return cls(type(error), str(error), attributes, traceback.format_exc())

    def without_trace(self) -> Fault:
        return replace(self, trace="")

    def rebuilt(self) -> CrawlError:
        # Not by calling the class: a subclass may ask for more than a message.
        error = self.kind.__new__(self.kind)
        error.args = (self.message,)
        vars(error).update(self.attributes)
        if self.trace:
            error.__cause__ = _TaskTraceError("\n" + self.trace)
        return error


def _can_travel(value: object) -> bool:
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


class FaultException(Exception):
    """A Fault as an exception in a worker: its text carries it through the JVM to the driver."""


_SEAL = secrets.token_hex(16)
"""Of this driver. What Spark says of a failure repeats texts of the web, and a Fault is unpickled:
only who was told the seal can have written one."""


@dataclass(frozen=True, slots=True)
class FaultPolicy:
    """What a worker does with a CrawlError; made by the driver, whose seal it carries."""

    seal: str = field(default_factory=lambda: _SEAL)

    def settle(self, error: CrawlError) -> Fault:
        """The fault as a value, where trying again is of no use; else raises FaultException."""
        if error.may_pass:
            raise self.exception(error) from error
        return Fault.of(error)

    def exception(self, error: CrawlError) -> FaultException:
        # without the trace, which Spark tells by itself
        fault = Fault.of(error).without_trace()
        code = base64.b64encode(pickle.dumps(fault)).decode("ascii")
        return FaultException(f"{error} <{self.seal}:{code}>")

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Turns a CrawlError of the block into an exception that the driver can read."""
        try:
            yield
        except CrawlError as error:
            raise self.exception(error) from error


def told_fault(message: str) -> CrawlError | None:
    """The CrawlError for which Spark gave up, by what it says."""
    match = re.search(rf"<{_SEAL}:([A-Za-z0-9+/=]+)>", message)
    if match is None:
        return None
    fault = pickle.loads(base64.b64decode(match.group(1)))  # the seal is ours
    assert isinstance(fault, Fault)
    return fault.rebuilt()


class Attempt(Generic[Task, Result]):
    """What runs in the worker: the function, with a CrawlError settled."""

    def __init__(self, function: Callable[[Task], Result]) -> None:
        self._function = function
        self.faults = FaultPolicy()

    def __call__(self, tasks: Iterable[bytes]) -> list[Result | Fault]:
        freeze_modules()
        return [self.one(pickle.loads(task)) for task in tasks]

    def one(self, task: Task) -> Result | Fault:
        try:
            return self._function(task)
        except CrawlError as error:
            return self.faults.settle(error)


def freeze_modules() -> None:
    """Leaves what a worker has loaded out of its collections of garbage: Spark's worker makes one
    after every task, and looking through all modules each time cost 15 ms a task, five times
    what a small task takes itself."""
    gc.freeze()


def without_faults(outcomes: Iterable[Any]) -> list[Any]:
    """The results; the first CrawlError among them is raised."""
    results = []
    for outcome in outcomes:
        if isinstance(outcome, Fault):
            raise outcome.rebuilt()
        results.append(outcome)
    return results


@contextmanager
def reported_faults(
    spark: SparkSession, step: str, explain: Sequence[Callable[[str], CrawlError | None]] = ()
) -> Iterator[None]:
    """Raises the CrawlError for which Spark gives up on a task; or what one of `explain` makes of
    what Spark says; else TaskError. Ctrl-C stays what it is, also where the JVM does not answer
    after it."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        died = death_of(error)
        if died is not None:
            raise died from error
        for reading in (told_fault, *explain):
            fault = reading(str(error))
            if fault is not None:
                raise fault from error
        log = log_file_of(spark)
        raise TaskError(
            f"{step}: a task failed: {_last_words(str(error))}" + (f"; see {log}" if log else "")
        ) from error


def _is_interrupt(error: BaseException) -> bool:
    """Whether the error came up while somebody cleaned up after Ctrl-C, as pyspark does."""
    before = error.__context__
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__context__
    return before is not None


_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*$", re.MULTILINE)
_CRASH = re.compile(r"Python worker exited unexpectedly[^\n]*")
_JAVA_REASON = re.compile(r"^\S*?(?:Exception|Error): (.+)$", re.MULTILINE)


def _last_words(trace: str) -> str:
    """The line of a JVM's long story that tells what happened in the task."""
    if _CRASH.search(trace):
        return "its Python process died (out of memory?)"
    before_driver, _, _ = trace.partition("Driver stacktrace:")
    _, mark, worker_trace = before_driver.rpartition("Traceback (most recent call last):")
    errors = _PYTHON_ERROR.findall(worker_trace) if mark else []
    if errors:
        return _with_advice(str(errors[-1]))
    reasons = _JAVA_REASON.findall(trace)
    return str(reasons[-1]) if reasons else trace.strip().splitlines()[-1]


def _with_advice(error: str) -> str:
    """What lacks on an executor is there on the driver, or the job had not begun."""
    if not error.startswith("ModuleNotFoundError"):
        return error
    return f"{error} on an executor: send it by --py-files or --archives (see scripts/package)"
