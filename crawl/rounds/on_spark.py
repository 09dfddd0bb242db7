"""Runs rounds in one Spark session, and lets a signal end them in good order."""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.task import STOP
from crawl.operations.interrupt import sigterm_interrupts, stop_on_signal
from crawl.rounds.lanes import Beside, RoundObserver
from crawl.rounds.loop import RoundLoop
from crawl.rounds.overlap import can_overlap, fetch_parts, overlapping
from crawl.rounds.results import LoopResult
from crawl.rounds.steps import LoopOptions, RoundOptions, StopReason
from crawl.spark.faults import TaskError
from crawl.spark.runners import JVMDied, SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import Segment
from crawl.tables.exchange import BlockSource, Exchange, Outbox
from crawl.tables.runner import Runner
from crawl.urls.resolve import system_resolver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.spark.job_properties import OperationJobs

Task = TypeVar("Task")
Result = TypeVar("Result")

Display = Callable[[Segment], AbstractContextManager[object]]
"""Shows the progress of the work on a segment while the block runs."""


@dataclass(frozen=True, slots=True)
class Displays:
    """Progress displays of the long steps."""

    fetch: Display = nullcontext
    parse: Display = nullcontext
    notice: Callable[[str], None] = lambda line: None
    """Called with lines for the user."""


def run_rounds(
    spark: SparkOptions,
    directory: CrawlDir,
    config: Config,
    options: RoundOptions,
    loop: LoopOptions,
    *,
    seeds: tuple[str, ...],
    observer: RoundObserver,
    displays: Displays,
    overlap: bool = False,
    steal_lock: bool = False,
) -> LoopResult:
    """All rounds in one session. A signal ends a fetch in good order and any other step at
    once: those have no state but what they publish at their end. One beside a fetch is waited for,
    and ended at once by a second signal. `overlap`: where that can be."""
    on_signal = _SignalHandler(displays.fetch)
    interrupted: Callable[[], bool] = bool  # not yet
    round_loop: RoundLoop | None = None
    try:
        with (
            sigterm_interrupts(),
            spark.session("run", config) as session,
            jobs_of_run(session) as jobs,
            stop_on_signal(on_signal.request_stop, "run", displays.notice) as interrupted,
        ):
            from crawl.phases.generate.tasks.host_bounds import send_values
            from crawl.phases.generate.tasks.selection import host_expressions
            from crawl.spark.cores import task_slots
            from crawl.spark.host_bounds import host_bounds
            from crawl.spark.tasks import SparkRunner

            count_slots = partial(task_slots, session, displays.notice)
            beside = None
            if overlap and can_overlap(config, loop) and count_slots() > 1:
                quiet = SparkRunner(session, quiet=True)
                beside = Beside(quiet, jobs.cancel)
            round_loop = RoundLoop(
                _ProgressRunner(
                    SparkRunner(session, quiet=spark.quiet), SparkRunner(session, quiet=True)
                ),
                directory,
                config,
                options,
                loop,
                SystemClock(),
                observer,
                resolver=system_resolver,
                sleep=time.sleep,
                interrupted=interrupted,
                fetching=on_signal.fetching,
                parsing=displays.parse,
                steal_lock=steal_lock,
                overlapping=None if beside is None else overlapping(beside),
                bounding=host_bounds(session, directory, host_expressions(config), send_values),
                count_parts=count_slots if beside is None else lambda: fetch_parts(count_slots()),
            )
            return round_loop.run(seeds)
    except KeyboardInterrupt:
        pass
    except JVMDied as error:
        if not interrupted():
            raise error.followed_by("run the same command to resume") from error
        # of the same signal, sent to all processes at once
    except TaskError:
        if not interrupted():
            raise
        # workers, and whoever waits for the JVM's answer, fail of the signal too; what fails for
        # another reason does so again when the same command resumes
    if round_loop is None:
        return LoopResult(StopReason.INTERRUPTED, ())
    return LoopResult(
        StopReason.INTERRUPTED, tuple(round_loop.rounds), after=tuple(round_loop.after)
    )


def jobs_of_run(session: SparkSession) -> AbstractContextManager[OperationJobs]:
    """The Spark jobs of all lanes of a run: what is cancelled when it is interrupted."""
    from crawl.spark.job_properties import jobs_of_operation

    return jobs_of_operation(session.sparkContext)


class _ProgressRunner:
    """A Runner that shows the progress of a step, but for fetch and parse, which have displays of
    their own."""

    def __init__(self, shown: Runner, hidden: Runner) -> None:
        self._shown = shown
        self._hidden = hidden

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        runner = self._hidden if step in ("fetch", "parse") else self._shown
        return runner.run(function, tasks, step)

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
        return self._shown.exchange(function, tasks, destinations, step, sources, rows=rows)


class _SignalHandler:
    """Has a signal end a fetch in good order, and any other step at once."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._segment: Segment | None = None

    @contextmanager
    def fetching(self, segment: Segment) -> Iterator[None]:
        self._segment = segment
        try:
            with self._display(segment):
                yield
        finally:
            self._segment = None

    def request_stop(self) -> None:
        segment = self._segment
        if segment is None:
            _thread.interrupt_main()  # the second signal, as it were
        else:
            segment.folder.write(STOP, b"")
