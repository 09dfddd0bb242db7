"""The seam between intake and fetch: a durable queue of URLs, at least once.

An entry that was put is there until it is finished, whatever is killed. Whoever claims one has it
alone until it is finished or released, or until the process ends: then it is handed out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import msgspec


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A URL that waits to be fetched."""

    id: str
    url: str
    key: str
    """The host or domain whose queue it is in."""
    priority: int
    """The class, of which the smallest number goes first."""
    not_before_ms: int
    """The moment before which nobody claims it; 0 for at once."""
    payload: bytes
    """What else belongs to it, which the queue does not look at."""


@dataclass(frozen=True, slots=True)
class QueueCount:
    """How many entries are not finished."""

    waiting: Mapping[int, int]
    """Of each priority, those that nobody has claimed, whether they may be by now or not."""
    claimed: int

    @property
    def unfinished(self) -> int:
        return sum(self.waiting.values()) + self.claimed


class Queue(Protocol):
    """Where submissions wait. Safe for several threads; the futures are done in one of the queue's
    own, and fail with a StorageError. None of them can be cancelled."""

    def put(self, entries: Sequence[Entry]) -> Future[int]:
        """Takes the entries in: all of them, or none where it fails. Done when they are durable,
        with the number of those that were not in the queue; an id that is in it already changes
        nothing. From then on they can be claimed."""
        ...

    def claim(
        self,
        limit: int,
        now_ms: int,
        *,
        per_key: int | Mapping[str, int],
        per_other_key: int = 1,
    ) -> list[Entry]:
        """Up to so many entries whose moment has come: those of the first priority first, but for
        a share that keeps the others from starving; among its keys in turn, so that many of one
        do not hide the others; of each key the oldest first.
        Of one key no more than `per_key` are claimed at a time, those of earlier calls included; a
        mapping says it of each key, and `per_other_key` of those that it does not name."""
        ...

    def replace(self, entries: Sequence[Entry]) -> Future[int]:
        """Puts entries in the place of those of the same ids, claimed or not, to be claimed anew;
        those that are not in the queue any more are left out. Done when it is durable, with the
        number of those that were replaced."""
        ...

    def find(self, urls: Sequence[str]) -> dict[str, list[Entry]]:
        """The entries of each URL, claimed or not, oldest first; without URLs that have none."""
        ...

    def entry(self, id: str) -> Entry | None:
        """The entry of an id, claimed or not; None where it is not in the queue."""
        ...

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next entry may be claimed of those that may not yet; None where all may."""
        ...

    def unfinished_of(self, key: str) -> int:
        """How many entries of a key are not finished; at no cost."""
        ...

    def release(self, id: str, not_before_ms: int) -> Future[bool]:
        """Gives a claimed entry back, to be claimed from that moment on, in its old place; whether
        it was claimed."""
        ...

    def finish(self, ids: Sequence[str]) -> Future[int]:
        """Takes entries out, claimed or not. Done when that is durable, with their number."""
        ...

    def count(self) -> QueueCount:
        """At no cost, however many there are."""
        ...

    def contains(self, id: str) -> bool:
        """Whether the entry is in the queue and not finished."""
        ...

    def close(self) -> None:
        """Makes durable what was asked for before, and ends."""
        ...
