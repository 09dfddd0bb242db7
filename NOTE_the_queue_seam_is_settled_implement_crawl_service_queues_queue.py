"""The seam between the service and its queue: jobs wait in it, durably, until they are finished.

An entry that was claimed and neither released nor finished is claimed again by whoever opens the
queue next: every job is served at least once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

import msgspec


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A job as the queue sees it."""

    id: str
    url: str
    """In normal form."""
    key: str
    """The host: no host's entries hide another's."""
    priority: int
    """0 is served first."""
    not_before_ms: int
    """By the wall clock; 0: at once."""
    payload: bytes


class Queue(Protocol):
    """A durable queue. Several threads may use it at once."""

    def put(self, entries: Sequence[Entry]) -> Future[None]:
        """Stores entries, in place of those of the same ids, which are claimable again then. Done
        when they would survive the death of the machine."""
        ...

    def claim(self, limit: int, now_ms: int, room_of_key: Callable[[str], int]) -> Sequence[Entry]:
        """Hands out entries that may be served now, by priority and then by age, and of each key no
        more than there is room for. Keys take turns within a priority."""
        ...

    def next_due_ms(self) -> int | None:
        """When the next entry that is not claimed may be served, of those that may not yet."""
        ...

    def release(self, ids: Sequence[str], not_before_ms: int = 0) -> Future[None]:
        """Gives claimed entries back."""
        ...

    def finish(self, ids: Sequence[str]) -> Future[None]:
        """Forgets entries. Done when that would survive the death of the machine."""
        ...

    def find(self, urls: Sequence[str]) -> Mapping[str, Sequence[Entry]]:
        """The entries of URLs, claimed or not, oldest first; URLs that have none are left out."""
        ...

    def waiting_of_priority(self, priority: int) -> int:
        """How many entries there are of a priority, claimed or not; takes no time."""
        ...

    def waiting_of_key(self, key: str) -> int:
        """The same of a key."""
        ...

    def check(self) -> None:
        """Raises StorageError where it cannot be used."""
        ...

    def close(self) -> None:
        """Ends it in good order; nothing is lost where that does not happen."""
        ...
