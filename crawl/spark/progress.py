"""Shows how far a long Spark step is (crawl/telemetry/progress.py).

The same step goes to Spark, so that its own pages name phase, step, crawl and segment; and what
its jobs have cost is added to the account of the phase when it is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from crawl.clock import SystemClock
from crawl.spark.costs import add_costs
from crawl.spark.job_properties import job_group, new_group
from crawl.telemetry.context import describe_step
from crawl.telemetry.progress import ProgressView, display_on, shown_progress

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.25

Showing = Callable[[str, Callable[[], ProgressView | None]], AbstractContextManager[None]]
"""Tells how far a step is, as the function says, while the block runs."""


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """How many tasks of a step are done."""

    done: int
    total: int | None
    """None while Spark has not planned them yet."""
    elapsed_seconds: float = 0.0

    @property
    def pace(self) -> str:
        return str(timedelta(seconds=round(self.elapsed_seconds)))

    @property
    def remaining(self) -> str:
        return ""

    def __str__(self) -> str:
        tasks = f"{self.done} tasks" if self.total is None else f"{self.done} of {self.total} tasks"
        return f"{tasks}, {self.elapsed_seconds:.0f} s"


@contextmanager
def progress(
    spark: SparkSession,
    step: str,
    total_tasks: int = 0,
    *,
    quiet: bool = False,
    showing: Showing | None = None,
) -> Iterator[None]:
    """Shows how far the Spark jobs started inside are, and names them `step`.

    `showing` tells whoever watches; without it stderr does. `total_tasks`: where known
    beforehand; else what Spark has planned so far. On any exception, Ctrl-C too, the jobs of the
    step are cancelled; the group, description and tags of the caller's own jobs come back.
    """
    context = spark.sparkContext
    group = new_group(step)
    with job_group(context, group, describe_step(step)):
        with nullcontext() if quiet else _shown(context, group, step, total_tasks, showing):
            yield
        add_costs(context, group, step)


@contextmanager
def _shown(
    context: SparkContext, group: str, step: str, total_tasks: int, showing: Showing | None
) -> Iterator[None]:
    clock = SystemClock()
    started = clock.monotonic()

    def look() -> TaskProgress:
        return _task_progress(context, group, total_tasks, clock.monotonic() - started)

    if showing is not None:
        with showing(step, look):
            yield
        return
    display = display_on(sys.stderr, step)
    with shown_progress(display, look, poll_seconds=POLL_SECONDS):
        yield


def _task_progress(
    context: SparkContext, group: str, total_tasks: int, elapsed_seconds: float
) -> TaskProgress:
    tracker = context.statusTracker()
    completed = planned = 0
    for job in tracker.getJobIdsForGroup(group):
        job_info = tracker.getJobInfo(job)
        for stage in job_info.stageIds if job_info else ():
            stage_info = tracker.getStageInfo(stage)
            if stage_info is not None:
                completed += stage_info.numCompletedTasks
                planned += stage_info.numTasks
    return TaskProgress(completed, total_tasks or planned or None, elapsed_seconds)
