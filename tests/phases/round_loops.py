"""Rounds in this process, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.fetcher.values.settings import FETCHER_PARSE
from crawl.rounds import LoopOptions, RoundOptions, Step
from crawl.rounds.lanes import Beside
from crawl.rounds.loop import RoundLoop
from crawl.rounds.overlap import overlapping
from crawl.rounds.results import AfterResult, LoopResult, RoundResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess


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

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.steps]

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        self.steps.append((step.name, segments))

    def on_remark(self, step: Step, line: str) -> None:
        self.remarked.append(line)

    def on_round(self, done: RoundResult) -> None:
        self.rounds.append(done)

    def on_after(self, done: AfterResult) -> None:
        self.after.append(done)

    def on_wait(self, seconds: float) -> None:
        self.waited.append(seconds)


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
        InProcess(threads),
        directory,
        config,
        RoundOptions(
            top_n=top_n,
            num_fetchers=parts,
            threads=10,
            parses_in_fetch=config[FETCHER_PARSE],
        ),
        loop,
        clock,
        diary or Diary(),
        resolver=lambda host: None,
        sleep=time.sleep if overlap else lambda seconds: None,
        overlapping=overlapping(Beside(InProcess(threads), cancel)) if overlap else None,
    )
    return round_loop.run(seeds)
