"""Rounds in this process, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.fetcher.values.settings import FETCHER_PARSE
from crawl.operations.events import Observer
from crawl.operations.work import Work
from crawl.rounds.events import AfterDone, RoundClosed, RoundStep, StepRemark, Waiting
from crawl.rounds.lanes import Beside
from crawl.rounds.loop import RoundLoop
from crawl.rounds.overlap import overlapping
from crawl.rounds.results import AfterResult, LoopResult, RoundResult
from crawl.rounds.steps import LoopOptions, RoundOptions, Step
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess, Runner


class SetClock(SystemClock):
    """A clock whose date stands still, and whose monotonic time runs, so that waits end."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def set(self, now_ms: int) -> None:
        self._now_ms = now_ms


@dataclass
class Diary:
    """An observer that records steps, rounds, remarks and waits."""

    steps: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    rounds: list[RoundResult] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    remarked: list[str] = field(default_factory=list)
    after: list[AfterResult] = field(default_factory=list)

    progress_seconds: float | None = None

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.steps]

    def on_event(self, event: object) -> None:
        match event:
            case RoundStep(step, segments):
                self.on_step(step, segments)
            case StepRemark(_, text):
                self.remarked.append(text)
            case RoundClosed(result):
                self.on_round(result)
            case AfterDone(result):
                self.after.append(result)
            case Waiting(seconds):
                self.on_wait(seconds)

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        self.steps.append((step.name, segments))

    def on_round(self, done: RoundResult) -> None:
        self.rounds.append(done)

    def on_wait(self, seconds: float) -> None:
        self.waited.append(seconds)


class InProcessEngine:
    """An engine without Spark."""

    def runner(
        self, work: Work, *, rows: int | None = None, quiet: bool = False
    ) -> AbstractContextManager[Runner]:
        return nullcontext(InProcess())

    def session(self, work: Work) -> AbstractContextManager[Any]:
        raise AssertionError("no Spark here")

    def task_slots(self, work: Work) -> int:
        return 1


def work_in_process(directory: CrawlDir, config: Config, clock: Clock, observer: Observer) -> Work:
    """What rounds in this process are run with."""
    return Work("run", config, InProcessEngine(), directory, observer, clock=clock)


def run_rounds(
    directory: CrawlDir,
    config: Config,
    clock: Clock,
    loop: LoopOptions,
    *,
    seeds: tuple[str, ...] = (),
    parts: int = 2,
    top_n: int = 50_000,
    diary: Diary | None = None,
    threads: int = 2,
    overlap: bool = False,
    cancel: Callable[[], None] = lambda: None,
) -> LoopResult:
    """Runs rounds of all phases in this process."""
    round_loop = RoundLoop(
        work_in_process(directory, config, clock, diary or Diary()),
        InProcess(threads),
        RoundOptions(
            top_n=top_n,
            num_fetchers=parts,
            threads=10,
            parses_in_fetch=config[FETCHER_PARSE],
        ),
        loop,
        resolver=lambda host: None,
        sleep=time.sleep if overlap else lambda seconds: None,
        overlapping=overlapping(Beside(InProcess(threads), cancel)) if overlap else None,
    )
    return round_loop.run(seeds)
