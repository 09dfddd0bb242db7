"""Maps a plain function over a list of tasks, one Spark task each.

This is how a phase works on buckets: Spark schedules, retries and spreads; the function
reads and writes files and knows nothing of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from crawl.spark.costs import pickled_tasks
from crawl.spark.exchange import exchange_on_spark
from crawl.spark.faults import Attempt, TaskError, reported_faults, without_faults
from crawl.spark.progress import Showing, progress
from crawl.tables.exchange import BlockSource, Exchange, Outbox
from crawl.telemetry.task import observe_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkRunner", "TaskError", "run_tasks"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    spark: SparkSession,
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    step: str,
    quiet: bool = False,
    showing: Showing | None = None,
) -> list[Result]:
    """`function` of each task, in the order of `tasks`, which is also the order of start.

    A CrawlError of a task is raised here, of the same type and with the same message; one that
    may pass, as of a store, when Spark has tried the task as often as it does. A task whose worker
    dies, or that raises anything else, is tried again too; after the last try TaskError is raised.
    Ctrl-C cancels what is running.
    """
    if not tasks:
        return []
    work = observe_tasks(function, step, away=True)
    slices = spark.sparkContext.parallelize(pickled_tasks(tasks), len(tasks))
    with (
        reported_faults(spark, step),
        progress(spark, step, len(tasks), quiet=quiet, showing=showing),
    ):
        outcomes = slices.mapPartitions(Attempt(work.function)).collect()
    return work.results(without_faults(outcomes))


class SparkRunner:
    """Runs tasks on the executors of a session: a Runner (crawl/tables/runner.py)."""

    def __init__(
        self, spark: SparkSession, *, quiet: bool = False, showing: Showing | None = None
    ) -> None:
        self._spark = spark
        self._quiet = quiet
        self._showing = showing
        """Tells how far a step is; where there is none, stderr does."""

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        return run_tasks(
            self._spark, function, tasks, step=step, quiet=self._quiet, showing=self._showing
        )

    def exchange(
        self,
        function: Callable[[Task, Outbox], Result],
        tasks: Sequence[Task],
        destinations: int,
        step: str,
        sources: Sequence[BlockSource] = (),
        *,
        rows: int | None = None,
    ) -> Exchange[Result]:
        return exchange_on_spark(
            self._spark,
            function,
            tasks,
            destinations,
            step,
            sources,
            rows=rows,
            quiet=self._quiet,
            showing=self._showing,
        )
