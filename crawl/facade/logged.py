"""Rounds as lines of Python's logging, for programs and notebooks."""

from __future__ import annotations

import logging

from crawl.rounds import Step
from crawl.rounds.results import AfterResult, RoundResult

_log = logging.getLogger("crawl")


class LoggingObserver:
    """Writes to the logger `crawl` how the rounds go."""

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        _log.info("%s %s", step.name, " ".join(segments))

    def on_remark(self, step: Step, line: str) -> None:
        _log.warning("%s: %s", step.name, line)

    def on_round(self, done: RoundResult) -> None:
        _log.info("round %d: %d fetched, %d new", done.number, done.fetched, done.new)

    def on_after(self, done: AfterResult) -> None:
        told = f"done in {done.seconds:.1f} s" if done.is_done else done.reason
        _log.info("%s: %s", done.step, told)

    def on_wait(self, seconds: float) -> None:
        _log.info("nothing to fetch now; looking again in %.0f s", seconds)
