"""What goes wrong in tasks, on its way from a worker to the user.

A CrawlError travels as a value and is raised anew by the driver; whatever else a task raises
is tried again by Spark, and in the end told in one line.
"""

from __future__ import annotations

import gc
import pickle
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Fault:
    """A CrawlError on its way from a worker to the driver.

    It travels as a value: Spark would try a task that raises three times more, and bury
    the message in a trace of the JVM.
    """

    kind: type[CrawlError]
    message: str
    attributes: dict[str, Any]
    trace: str

    @classmethod
    def of(cls, error: CrawlError) -> Fault:
        return cls(type(error), str(error), dict(vars(error)), traceback.format_exc())

    def rebuilt(self) -> CrawlError:
        # Not by calling the class: a subclass may ask for more than a message.
        error = self.kind.__new__(self.kind)
        error.args = (self.message,)
        vars(error).update(self.attributes)
        error.__cause__ = _TaskTraceError("\n" + self.trace)
        return error


class Attempt(Generic[Task, Result]):
    """What runs in the worker: the function, with a CrawlError turned into a value."""

    def __init__(self, function: Callable[[Task], Result]) -> None:
        self._function = function

    def __call__(self, tasks: Iterable[bytes]) -> list[Result | Fault]:
        freeze_modules()
        return [self._one(pickle.loads(task)) for task in tasks]

    def _one(self, task: Task) -> Result | Fault:
        try:
            return self._function(task)
        except CrawlError as error:
            return Fault.of(error)


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
    spark: SparkSession,
    step: str,
    explain: Sequence[Callable[[str], CrawlError | None]] = (),
) -> Iterator[None]:
    """Raises TaskError where Spark gives up on a task; or what one of `explain` makes of what
    Spark says. Ctrl-C stays what it is, also where the JVM does not answer after it."""
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
        for known in explain:
            fault = known(str(error))
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
    _, found, worker_trace = before_driver.rpartition("Traceback (most recent call last):")
    errors = _PYTHON_ERROR.findall(worker_trace) if found else []
    if errors:
        return _with_advice(str(errors[-1]))
    reasons = _JAVA_REASON.findall(trace)
    return str(reasons[-1]) if reasons else trace.strip().splitlines()[-1]


def _with_advice(error: str) -> str:
    """What lacks on an executor is there on the driver, or the job had not begun."""
    if not error.startswith("ModuleNotFoundError"):
        return error
    return f"{error} on an executor: send it by --py-files or --archives (see scripts/package)"
