"""What is to be done now and then, in a thread of its own: so that nothing grows for ever, and so
that what has gone wrong is known before somebody asks.

A chore that fails is done the next time; none of them may end the service.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import CrawlError

_TICK_S = 0.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chore:
    """Something to be done every so many seconds."""

    name: str
    every_s: float
    do: Callable[[], object]


class Caretaker:
    """Does chores until it is stopped."""

    def __init__(self, chores: Sequence[Chore], clock: Clock, counters: Counters) -> None:
        self._clock = clock
        self._counters = counters
        self._due = {chore: clock.monotonic() + chore.every_s for chore in chores}
        self._failing: set[str] = set()
        self._ended = Event()

    def stop(self) -> None:
        """Has `run` return as soon as the chore under way is done."""
        self._ended.set()

    def run(self) -> None:
        while not self._ended.wait(_TICK_S):
            self.do_what_is_due()

    def do_what_is_due(self) -> None:
        """All chores whose time has come."""
        for chore, due in list(self._due.items()):
            if not self._ended.is_set() and self._clock.monotonic() >= due:
                self._do(chore)
                self._due[chore] = self._clock.monotonic() + chore.every_s

    def _do(self, chore: Chore) -> None:
        try:
            chore.do()
        except (CrawlError, OSError) as error:
            self._counters[f"chores_failed.{chore.name}"] += 1
            if chore.name not in self._failing:  # once, not every second
                _log.warning("%s: %s", chore.name, error)
            self._failing.add(chore.name)
        else:
            self._failing.discard(chore.name)
