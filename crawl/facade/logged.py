"""Rounds as lines of Python's logging, for programs and notebooks."""

from __future__ import annotations

import logging

from crawl.rounds import Step
from crawl.rounds.results import RoundDone

_log = logging.getLogger("crawl")


class LoggingObserver:
    """Writes to the logger `crawl` how the rounds go."""

    def begins(self, step: Step, segments: tuple[str, ...]) -> None:
        _log.info("%s %s", step.name, " ".join(segments))

    def remarks(self, step: Step, line: str) -> None:
        _log.warning("%s: %s", step.name, line)

    def closes(self, done: RoundDone) -> None:
        _log.info("round %d: %d fetched, %d new", done.number, done.fetched, done.new)

    def waits(self, seconds: float) -> None:
        _log.info("nothing to fetch now; looking again in %.0f s", seconds)
