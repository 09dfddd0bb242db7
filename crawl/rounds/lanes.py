"""Who runs the steps of rounds, and who is informed of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from crawl.rounds.results import AfterResult, RoundResult
from crawl.rounds.steps import Step
from crawl.storage.segments import Segment
from crawl.tables.runner import Runner


class RoundObserver(Protocol):
    """Is informed of the steps and rounds of a loop."""

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        """A step begins."""

    def on_remark(self, step: Step, line: str) -> None:
        """A line for the user."""

    def on_round(self, done: RoundResult) -> None:
        """A round is closed."""

    def on_after(self, done: AfterResult) -> None:
        """A step that follows the rounds is done, or had nothing to do."""

    def on_wait(self, seconds: float) -> None:
        """Nothing is due, and the loop waits."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Who runs steps, and who is informed of them."""

    runner: Runner
    observer: RoundObserver
    parsing: Callable[[Segment], AbstractContextManager[object]] = nullcontext


@dataclass(frozen=True, slots=True)
class Beside:
    """What is needed for steps beside a fetch."""

    runner: Runner
    """It shows nothing: the terminal is the fetch's."""
    cancel: Callable[[], None] = lambda: None
    """Has the runner's work under way fail, and nobody else's; may be called again."""
