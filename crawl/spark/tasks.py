"""Maps a plain function over a list of tasks, one Spark task each.

This is how a phase works on buckets: Spark schedules, retries and spreads; the function
reads and writes files and knows nothing of Spark.
"""

from __future__ import annotations

import gc
import pickle
import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from crawl.errors import CrawlError
from crawl.spark.costs import pickled_tasks
from crawl.spark.progress import progress
from crawl.spark.session import log_file_of
from crawl.telemetry.task import observe_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Task = TypeVar("Task")
Result = TypeVar("Result")


class TaskError(CrawlError):
    """A task failed for no reason we know, as often as Spark tried it."""


class _TaskTraceError(Exception):
    """Where in a task an error was raised, as text: the frames stayed in the worker."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """A CrawlError on its way from a worker to the driver.

    It travels as a value: Spark would try a task that raises three times more, and bury
    the message in a trace of the JVM.
    """

    kind: type[CrawlError]
    message: str
    attributes: dict[str, Any]
    trace: str

    @classmethod
    def of(cls, error: CrawlError) -> _Fault:
        return cls(type(error), str(error), dict(vars(error)), traceback.format_exc())

    def rebuilt(self) -> CrawlError:
        # Not by calling the class: a subclass may ask for more than a message.
        error = self.kind.__new__(self.kind)
        error.args = (self.message,)
        vars(error).update(self.attributes)
        error.__cause__ = _TaskTraceError("\n" + self.trace)
        return error


class _Attempt(Generic[Task, Result]):
    """What runs in the worker: the function, with a CrawlError turned into a value."""

    def __init__(self, function: Callable[[Task], Result]) -> None:
        self._function = function

    def __call__(self, tasks: Iterable[bytes]) -> list[Result | _Fault]:
        # Spark's worker collects garbage after every task: looking through all modules
        # each time cost 15 ms a task, five times what a small task takes itself
        gc.freeze()
        return [self._one(pickle.loads(task)) for task in tasks]

    def _one(self, task: Task) -> Result | _Fault:
        try:
            return self._function(task)
        except CrawlError as error:
            return _Fault.of(error)


def run_tasks(
    spark: SparkSession,
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    step: str,
    quiet: bool = False,
) -> list[Result]:
    """`function` of each task, in the order of `tasks`, which is also the order of start.

    A CrawlError of a task is raised here, of the same type and with the same message. A
    task whose worker dies, or that raises anything else, is tried again by Spark; after
    the last try TaskError is raised. Ctrl-C cancels what is running.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if not tasks:
        return []
    work = observe_tasks(function, step, away=True)
    slices = spark.sparkContext.parallelize(pickled_tasks(tasks), len(tasks))
    try:
        with progress(spark, step, len(tasks), quiet=quiet):
            outcomes = slices.mapPartitions(_Attempt(work.function)).collect()
    except (Py4JError, PySparkException) as error:
        log = log_file_of(spark)
        raise TaskError(
            f"{step}: a task failed: {_last_words(str(error))}" + (f"; see {log}" if log else "")
        ) from error
    results: list[Any] = []
    for outcome in outcomes:
        if isinstance(outcome, _Fault):
            raise outcome.rebuilt()
        results.append(outcome)
    return work.results(results)


class SparkRunner:
    """Runs tasks on the executors of a session: a Runner (crawl/buckets/runner.py)."""

    def __init__(self, spark: SparkSession, *, quiet: bool = False) -> None:
        self._spark = spark
        self._quiet = quiet

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        return run_tasks(self._spark, function, tasks, step=step, quiet=self._quiet)


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
