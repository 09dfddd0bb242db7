"""What a run over rounds tells while it works, beside what every operation may tell
(crawl/operations/events.py)."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.rounds.results import AfterResult, RoundResult
from crawl.rounds.steps import Step


@dataclass(frozen=True, slots=True)
class RoundStep:
    """A step of a round, or one that follows the rounds, begins."""

    step: Step
    segments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepRemark:
    """A line about a step for whoever operates the crawl."""

    step: Step
    text: str


@dataclass(frozen=True, slots=True)
class RoundClosed:
    """A round is closed."""

    result: RoundResult


@dataclass(frozen=True, slots=True)
class AfterDone:
    """A step that follows the rounds is done, or had nothing to do."""

    result: AfterResult


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is due, and the loop waits."""

    seconds: float
