"""Runs rounds in one Spark session, and lets a signal or a cancellation end them in good order."""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from crawl.errors import Cancelled
from crawl.fetcher.task import STOP
from crawl.operations.interrupt import sigterm_interrupts
from crawl.operations.work import Work
from crawl.phases.fetch.progress import fetch_look
from crawl.phases.parse.progress import parse_look
from crawl.rounds.lanes import Beside
from crawl.rounds.loop import RoundLoop
from crawl.rounds.overlap import can_overlap, fetch_parts, overlapping
from crawl.rounds.results import LoopResult
from crawl.rounds.steps import LoopOptions, RoundOptions, StopReason
from crawl.spark.faults import TaskError
from crawl.spark.job_properties import jobs_of_operation
from crawl.spark.jvm_death import JVMDied
from crawl.storage.segments import Segment
from crawl.tables.runner import Runner
from crawl.urls.resolve import system_resolver

if TYPE_CHECKING:
    from crawl.spark.job_properties import OperationJobs

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_rounds(
    work: Work,
    options: RoundOptions,
    loop: LoopOptions,
    *,
    seeds: tuple[str, ...],
    overlap: bool = False,
    steal_lock: bool = False,
) -> LoopResult:
    """All rounds in one session. A signal ends a fetch in good order and any other step at
    once: those have no state but what they publish at their end. One beside a fetch is waited for,
    and ended at once by a second signal. A cancellation ends it with the fetch. `overlap`: where
    that can be."""
    is_stopping: Callable[[], bool] = bool  # not yet
    round_loop: RoundLoop | None = None
    try:
        with (
            sigterm_interrupts(),
            work.ending_itself().session() as session,
            jobs_of_operation(session.sparkContext) as jobs,
        ):
            stopper = _Stopper(work, jobs)
            with work.stopping(stopper.request_stop) as is_stopping:
                from crawl.phases.generate.tasks.host_bounds import send_values
                from crawl.phases.generate.tasks.selection import host_expressions
                from crawl.spark.engine import observed_runner
                from crawl.spark.host_bounds import host_bounds

                expressions = host_expressions(work.config)
                hidden = observed_runner(session, work, quiet=True)
                shown = observed_runner(session, work)
                beside = None
                if overlap and can_overlap(work.config, loop) and work.task_slots() > 1:
                    beside = Beside(hidden, stopper.beside.cancel, stopper.beside.working)
                round_loop = RoundLoop(
                    work,
                    _ProgressRunner(shown, hidden),
                    options,
                    loop,
                    resolver=system_resolver,
                    sleep=time.sleep,
                    interrupted=is_stopping,
                    fetching=stopper.fetching,
                    parsing=lambda segment: _parsing(work, segment),
                    steal_lock=steal_lock,
                    overlapping=None if beside is None else overlapping(beside),
                    bounding=host_bounds(session, work.directory, expressions, send_values),
                    count_parts=work.task_slots
                    if beside is None
                    else lambda: fetch_parts(work.task_slots()),
                )
                return round_loop.run(seeds)
    except KeyboardInterrupt:
        pass
    except JVMDied as error:
        if not is_stopping():
            raise error.followed_by("run the same command to resume") from error
        # of the same signal, sent to all processes at once
    except (TaskError, Cancelled):
        if not is_stopping():
            raise
        # workers, and whoever waits for the JVM's answer, fail of the signal too; what fails for
        # another reason does so again when the same command resumes
    if round_loop is None:
        return LoopResult(StopReason.INTERRUPTED, ())
    return LoopResult(
        StopReason.INTERRUPTED, tuple(round_loop.rounds), after=tuple(round_loop.after)
    )


def _parsing(work: Work, segment: Segment) -> AbstractContextManager[None]:
    """Shows how far the parse of a segment is while the block runs."""
    return work.showing("parse", parse_look(segment, work.clock))


class _ProgressRunner:
    """A Runner that shows the progress of a step, but for fetch and parse, which have displays of
    their own."""

    def __init__(self, shown: Runner, hidden: Runner) -> None:
        self._shown = shown
        self._hidden = hidden
        self.exchange = shown.exchange

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        runner = self._hidden if step in ("fetch", "parse") else self._shown
        return runner.run(function, tasks, step)


class _Stopper:
    """Has a signal or a cancellation end a fetch in good order, and any other step at once."""

    def __init__(self, work: Work, jobs: OperationJobs) -> None:
        self._work = work
        self._jobs = jobs
        self._segment: Segment | None = None
        self.beside = jobs.apart()
        """The jobs of steps beside a fetch."""

    @contextmanager
    def fetching(self, segment: Segment) -> Iterator[None]:
        """Shows how far the fetch of a segment is while the block runs, and lets it be asked to
        end."""
        self._segment = segment
        try:
            with self._work.showing("fetch", fetch_look(segment)):
                yield
        finally:
            self._segment = None

    def request_stop(self) -> None:
        segment = self._segment
        if segment is not None:
            segment.folder.write(STOP, b"")
        if self._work.cancellation.is_asked:
            self.beside.cancel()
            if segment is None:
                self._jobs.cancel()
        elif segment is None:
            _thread.interrupt_main()  # the second signal, as it were
