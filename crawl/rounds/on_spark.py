"""Runs rounds in one Spark session, and lets a signal end them in good order."""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeVar

from crawl.buckets.runner import Runner
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import EnvironmentFault
from crawl.fetcher.task import STOP
from crawl.rounds.interrupt import asks_first, terminated_as_interrupted
from crawl.rounds.loop import Walk, Witness
from crawl.rounds.results import Walked
from crawl.rounds.steps import Ending, Loop, RoundOptions
from crawl.spark.runners import JVMDied, SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import Segment
from crawl.urls.resolve import system_resolver

Task = TypeVar("Task")
Result = TypeVar("Result")

Display = Callable[[Segment], AbstractContextManager[object]]
"""Shows how far the work on a segment is while the block runs."""


@dataclass(frozen=True, slots=True)
class Displays:
    """What shows people how far the long steps are."""

    fetch: Display = nullcontext
    parse: Display = nullcontext
    notice: Callable[[str], None] = lambda line: None
    """Is given lines for the user."""


def run_rounds(
    spark: SparkOptions,
    directory: CrawlDir,
    config: Config,
    options: RoundOptions,
    loop: Loop,
    *,
    seeds: tuple[str, ...],
    witness: Witness,
    displays: Displays,
    force: bool = False,
) -> Walked:
    """All rounds in one session. A signal ends a fetch in good order and any other step at
    once: those have no state but what they publish at their end."""
    on_signal = _OnSignal(displays.fetch)
    interrupted: Callable[[], bool] = bool  # not yet
    turning: Walk | None = None
    try:
        with (
            terminated_as_interrupted(),
            spark.session("run", config) as session,
            asks_first(on_signal.ask, "run", displays.notice) as interrupted,
        ):
            from crawl.spark.tasks import SparkRunner

            cores = session.sparkContext.defaultParallelism
            turning = Walk(
                _Shown(SparkRunner(session, quiet=spark.quiet), SparkRunner(session, quiet=True)),
                directory,
                config,
                replace(options, num_fetchers=options.num_fetchers or cores),
                loop,
                SystemClock(),
                witness,
                resolver=system_resolver,
                sleep=time.sleep,
                interrupted=interrupted,
                fetching=on_signal.fetching,
                parsing=displays.parse,
                force=force,
            )
            return turning.walk(seeds)
    except KeyboardInterrupt:
        pass
    except JVMDied as error:
        if not interrupted():
            told = "Spark's JVM died; run the same command to resume"
            raise EnvironmentFault(told) from error
        # of the same signal, sent to all processes at once
    return Walked(Ending.INTERRUPTED, () if turning is None else tuple(turning.rounds))


class _Shown:
    """A Runner that shows how far a step is, but for those that tell their own progress."""

    def __init__(self, shown: Runner, hidden: Runner) -> None:
        self._shown = shown
        self._hidden = hidden

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        runner = self._hidden if step in ("fetch", "parse") else self._shown
        return runner.run(function, tasks, step)


class _OnSignal:
    """What a signal does: asks a fetch to end, and ends anything else."""

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

    def ask(self) -> None:
        segment = self._segment
        if segment is None:
            _thread.interrupt_main()  # the second signal, as it were
        else:
            segment.folder.write(STOP, b"")
