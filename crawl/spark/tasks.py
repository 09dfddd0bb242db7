"""Maps a plain function over a list of tasks, one Spark task each.

This is how a phase works on buckets: Spark schedules, retries and spreads; the function
reads and writes files and knows nothing of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from crawl.spark.costs import pickled_tasks
from crawl.spark.exchange import RddSource, exchange_by, most_partitions
from crawl.spark.faults import Attempt, TaskError, reported_faults, without_faults
from crawl.spark.progress import Showing, progress
from crawl.spark.shuffle import SparkShuffle
from crawl.tables.exchange import BlockSource, Exchange, Outbox
from crawl.telemetry.task import observe_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkRunner", "TaskError"]

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SparkRunner:
    """Runs tasks on the executors of a session: a Runner (crawl/tables/runner.py)."""

    spark: SparkSession
    quiet: bool = False
    showing: Showing | None = None
    """Tells how far a step is; where there is none, stderr does."""

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        """`function` of each task, in the order of `tasks`, which is also the order of start.

        A CrawlError of a task is raised here, of the same type and with the same message; one that
        may pass, as of a store, when Spark has tried the task as often as it does. A task whose
        worker dies, or that raises anything else, is tried again too; after the last try TaskError
        is raised. Ctrl-C cancels what is running.
        """
        if not tasks:
            return []
        work = observe_tasks(function, step, away=True)
        slices = self.spark.sparkContext.parallelize(pickled_tasks(tasks), len(tasks))
        with (
            reported_faults(self.spark, step),
            progress(self.spark, step, len(tasks), quiet=self.quiet, showing=self.showing),
        ):
            outcomes = slices.mapPartitions(Attempt(work.function)).collect()
        return work.results(without_faults(outcomes))

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
        rdds = [source for source in sources if isinstance(source, RddSource)]
        assert len(rdds) == len(sources)
        explain = [source.explain for source in rdds]
        shuffle = SparkShuffle(self.spark, self.quiet, explain, self.showing)
        most = most_partitions(self.spark.sparkContext.defaultParallelism, rows)
        blocks = [source.blocks for source in rdds]
        return exchange_by(shuffle, function, tasks, destinations, step, blocks, most=most)
