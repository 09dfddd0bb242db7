"""Tells the user how far a long Spark step is.

A bar on a terminal, a plain line every few seconds elsewhere, nothing for a short step.
The same step goes to Spark, so that its own pages name phase, step, crawl and segment.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TextIO

from crawl.clock import Clock, SystemClock
from crawl.telemetry import logs
from crawl.telemetry.context import describe_step

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.25
LINE_SECONDS = 5.0
PATIENCE_SECONDS = 3.0
"""A step shorter than this needs no plain line."""

_numbers = itertools.count(1)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many tasks of a step are done, of how many; `total` 0 while unknown."""

    done: int
    total: int

    def __str__(self) -> str:
        return f"{self.done} of {self.total} tasks" if self.total else f"{self.done} tasks"


class Display(Protocol):
    """Shows tallies as they come."""

    def show(self, tally: Tally) -> None: ...

    def close(self) -> None: ...


class Bar:
    """A bar that is redrawn in place and gone at the end; by rich, which knows terminals."""

    def __init__(self, step: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._progress.add_task(step, total=None)

    def show(self, tally: Tally) -> None:
        self._progress.start()  # not before: a step of a moment shows nothing
        self._progress.update(self._task, completed=tally.done, total=tally.total or None)

    def close(self) -> None:
        self._progress.stop()


class Lines:
    """A plain line now and then, for a log."""

    def __init__(self, step: str, stream: TextIO, clock: Clock) -> None:
        self._step = step
        self._stream = stream
        self._clock = clock
        self._begun = clock.monotonic()
        self._next = self._begun + PATIENCE_SECONDS

    def show(self, tally: Tally) -> None:
        now = self._clock.monotonic()
        if now >= self._next:
            self._next = now + LINE_SECONDS
            line = f"{self._step}: {tally}, {now - self._begun:.0f} s"
            if logs.is_json():
                _log.info(line)
            else:
                print(line, file=self._stream, flush=True)

    def close(self) -> None:
        return


@contextmanager
def progress(
    spark: SparkSession,
    step: str,
    total_tasks: int = 0,
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
) -> Iterator[None]:
    """Shows how far the Spark jobs started inside are, and names them `step`.

    `total_tasks`: where known beforehand; else what Spark has planned so far. On any
    exception, Ctrl-C too, the jobs of the step are cancelled.
    """
    context = spark.sparkContext
    group = f"{step} #{next(_numbers)}"
    with _job_group(context, group, describe_step(step)):
        if quiet:
            yield
            return
        with _watched(
            lambda: _tally(context, group, total_tasks),
            _display(step, stream if stream is not None else sys.stderr),
        ):
            yield


def _display(step: str, stream: TextIO) -> Display:
    drawn = stream.isatty() and not logs.is_json()
    return Bar(step, stream) if drawn else Lines(step, stream, SystemClock())


@contextmanager
def _job_group(context: SparkContext, group: str, description: str) -> Iterator[None]:
    context.setJobGroup(group, description, interruptOnCancel=True)
    try:
        yield
    except BaseException:
        context.cancelJobGroup(group)
        raise
    finally:
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(key, None)  # type: ignore[arg-type]


@contextmanager
def _watched(tally: Callable[[], Tally], display: Display) -> Iterator[None]:
    """Feeds the display from a thread of its own, since the caller waits for Spark."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(POLL_SECONDS):
            try:
                display.show(tally())
            except Exception:
                # The work must not suffer from its display, e.g. while Spark goes down.
                return

    watcher = threading.Thread(target=watch, name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        display.close()


def _tally(context: SparkContext, group: str, total_tasks: int) -> Tally:
    tracker = context.statusTracker()
    done = planned = 0
    for job in tracker.getJobIdsForGroup(group):
        job_info = tracker.getJobInfo(job)
        for stage in job_info.stageIds if job_info else ():
            stage_info = tracker.getStageInfo(stage)
            if stage_info is not None:
                done += stage_info.numCompletedTasks
                planned += stage_info.numTasks
    return Tally(done, total_tasks or planned)
