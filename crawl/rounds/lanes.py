"""Who runs the steps of rounds, and who is informed of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from crawl.operations.events import Observer
from crawl.storage.segments import Segment
from crawl.tables.runner import Runner


@dataclass(frozen=True, slots=True)
class Lane:
    """Who runs steps, and who is informed of them."""

    runner: Runner
    observer: Observer
    parsing: Callable[[Segment], AbstractContextManager[object]] = nullcontext


@dataclass(frozen=True, slots=True)
class Beside:
    """What is needed for steps beside a fetch."""

    runner: Runner
    """It shows nothing: the terminal is the fetch's."""
    cancel: Callable[[], None] = lambda: None
    """Has the runner's work under way fail, and nobody else's; may be called again."""
    working: Callable[[], AbstractContextManager[object]] = nullcontext
    """Is around the steps, in their thread: what they do inside is what `cancel` ends."""
