"""All who hear of jobs that ended, in the order in which nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from crawl.service.values import Finished


class Listener(Protocol):
    """Hears of jobs that ended."""

    def store(self, finished: Sequence[Finished]) -> None:
        """Keeps what must not be lost, before the jobs leave the queue; the same may come again."""

    def tell(self, finished: Sequence[Finished]) -> None:
        """Tells those who listen now, after that."""


@dataclass(frozen=True, slots=True)
class AllListeners:
    """Several as one."""

    listeners: tuple[Listener, ...]

    def store(self, finished: Sequence[Finished]) -> None:
        for each in self.listeners:
            each.store(finished)

    def tell(self, finished: Sequence[Finished]) -> None:
        for each in self.listeners:
            each.tell(finished)
