"""Which entries of a queue wait, and whose turn it is: an index in memory over what is on disk.

It knows numbers alone (about 150 bytes an entry): the number of an entry is its age. Each priority
has a ring of the keys that have something to claim, and each key a heap of its numbers. Whoever
looks for the next entry meets no key twice that may have none claimed at the moment: such keys
are set aside until one of theirs comes back.

A priority goes before those behind it, but not for ever: after so many of its entries (`SHARE`) one
of the next has its turn. While all three have some, of 81 entries 72 are of the first, 8 of the
second and one of the third.
"""

from __future__ import annotations

import heapq
import sys
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass

SHARE = 8
"""Entries of a priority to one of those behind it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many entries of a key may be claimed at a time."""

    named: Mapping[str, int]
    others: int

    @classmethod
    def given(cls, per_key: int | Mapping[str, int], per_other_key: int) -> Limits:
        """As whoever claims says it."""
        return cls({}, per_key) if isinstance(per_key, int) else cls(per_key, per_other_key)

    def of(self, key: str) -> int:
        return self.named.get(key, self.others)


class Waiting:
    """For whoever holds the queue's lock."""

    def __init__(self) -> None:
        self.count: Counter[int] = Counter()
        """Entries that wait, by priority."""
        self._rings: dict[int, deque[str]] = {}
        self._heaps: dict[tuple[int, str], list[int]] = {}
        self._delayed: list[tuple[int, int, int, str]] = []
        self._gone: set[int] = set()
        """Numbers of entries that were removed while they waited, and are still in a heap."""
        self._claimed: Counter[str] = Counter()
        self._aside: dict[str, set[int]] = {}
        """Keys with as many claimed as may be, and the rings that they were in."""
        self._limits = Limits({}, 1)
        self._served: Counter[int] = Counter()
        """Entries of a priority since one behind it had its turn."""

    def add(self, number: int, priority: int, key: str, not_before_ms: int) -> None:
        """An entry that may be claimed from that moment on."""
        self.count[priority] += 1
        # one text for all entries of a key
        heapq.heappush(self._delayed, (not_before_ms, number, priority, sys.intern(key)))

    def remove(self, number: int, priority: int) -> None:
        """An entry that waits is not to be claimed."""
        self._gone.add(number)
        self._count_down(priority)

    def take(self, most: int, now_ms: int, limits: Limits) -> list[tuple[int, int, str]]:
        """Number, priority and key of the next entries; they count as claimed, and not as
        waiting."""
        self._wake(now_ms)
        if limits != self._limits:
            # a copy: the caller's mapping may change
            self._limits = Limits(dict(limits.named), limits.others)
            for key in list(self._aside):
                self._put_back(key)
        taken: list[tuple[int, int, str]] = []
        while self._rings and len(taken) < most:
            found = self._next_of(self._whose_turn(), limits)
            if found is not None:
                taken.append(found)
        return taken

    def _whose_turn(self) -> int:
        """The priority of the next entry."""
        *ahead, last = sorted(self._rings)
        return next((each for each in ahead if self._served[each] < SHARE), last)

    def _next_of(self, priority: int, limits: Limits) -> tuple[int, int, str] | None:
        """The next entry of a priority; None where none of its keys may have one claimed, and then
        it has no ring any more."""
        ring = self._rings[priority]
        found = None
        while ring and found is None:
            key = ring.popleft()
            if self._claimed[key] >= limits.of(key):
                self._aside.setdefault(key, set()).add(priority)
                continue
            number = self._oldest(priority, key)
            if number is None:
                continue
            found = number, priority, key
            self._claimed[key] += 1
            self._count_down(priority)
            if (priority, key) in self._heaps:
                ring.append(key)
            self._served[priority] += 1
            for each in [each for each in self._served if each < priority]:
                del self._served[each]
        if not ring:
            del self._rings[priority]
        return found

    def next_due_ms(self, now_ms: int) -> int | None:
        """The next moment after this one at which an entry may be claimed."""
        self._wake(now_ms)
        return self._delayed[0][0] if self._delayed else None

    def give_back(self, key: str) -> None:
        """One of the key is no longer claimed."""
        left = self._claimed[key] - 1
        if left > 0:
            self._claimed[key] = left
        else:
            del self._claimed[key]
        if left < self._limits.of(key):
            self._put_back(key)

    def _wake(self, now_ms: int) -> None:
        while self._delayed and self._delayed[0][0] <= now_ms:
            _, number, priority, key = heapq.heappop(self._delayed)
            heap = self._heaps.get((priority, key))
            if heap is not None:
                heapq.heappush(heap, number)
                continue
            self._heaps[priority, key] = [number]
            if key in self._aside:
                self._aside[key].add(priority)
            else:
                self._rings.setdefault(priority, deque()).append(key)

    def _put_back(self, key: str) -> None:
        for priority in self._aside.pop(key, ()):
            self._rings.setdefault(priority, deque()).append(key)

    def _oldest(self, priority: int, key: str) -> int | None:
        """Takes the first number that is not gone out of the key's heap."""
        heap = self._heaps[priority, key]
        found: int | None = None
        while heap and found is None:
            number = heapq.heappop(heap)
            if number in self._gone:
                self._gone.remove(number)
            else:
                found = number
        if not heap:
            del self._heaps[priority, key]
        return found

    def _count_down(self, priority: int) -> None:
        self.count[priority] -= 1
        if not self.count[priority]:
            del self.count[priority]
