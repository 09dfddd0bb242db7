"""What an operation tells while it works: values, which an observer draws, logs or sends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from crawl.telemetry.progress import ProgressView


@dataclass(frozen=True, slots=True)
class Remark:
    """A line for whoever operates the crawl."""

    operation: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line about how it goes, which is no news afterwards."""

    text: str


@dataclass(frozen=True, slots=True)
class StepBegan:
    """A step begins whose progress is reported."""

    step: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far a step is."""

    step: str
    view: ProgressView


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step whose progress was reported is over."""

    step: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The operation is over: well, with a fault, or cancelled."""

    operation: str
    fault: BaseException | None = None


Event = Remark | Notice | StepBegan | Progressed | StepEnded | Finished
"""What every operation may tell; an operation may have further values of its own (a round …)."""


class Observer(Protocol):
    """Gets the events of an operation, from whichever thread they happen in; must not raise."""

    progress_seconds: float | None
    """How often it wants to know how far a step is; None where it does not."""

    def on_event(self, event: object) -> None: ...


class SilentObserver:
    """An observer that ignores all events."""

    progress_seconds: float | None = None

    def on_event(self, event: object) -> None:
        return


@dataclass(slots=True)
class ObservedDisplay:
    """Passes the progress of a step on as events (a ProgressDisplay)."""

    step: str
    observer: Observer
    poll_seconds: float

    def show(self, view: ProgressView) -> None:
        self.observer.on_event(Progressed(self.step, view))

    def close(self) -> None:
        self.observer.on_event(StepEnded(self.step))


Look = Callable[[], ProgressView | None]
"""Says how far a step is; None where there is nothing to say yet."""
