"""Which messages of a partition are done with: what may be committed is the lowest that is not,
however the others end."""

from __future__ import annotations

import heapq


class Offsets:
    """Of one partition, from the first that is to be read. For one thread."""

    def __init__(self, first: int) -> None:
        self._next = first
        """Behind all that were taken."""
        self._open: set[int] = set()
        self._lowest: list[int] = []
        """A heap of the open ones, with some that are done meanwhile."""

    def take(self, offset: int) -> None:
        """One was read. Offsets may leave gaps: what was compacted or is a mark is none."""
        self._next = max(self._next, offset + 1)
        if offset not in self._open:
            self._open.add(offset)
            heapq.heappush(self._lowest, offset)

    def finish(self, offset: int) -> None:
        """One is done with; again, or one that was not taken, changes nothing."""
        self._open.discard(offset)

    @property
    def position(self) -> int:
        """The offset to commit: everything before it is done with."""
        while self._lowest and self._lowest[0] not in self._open:
            heapq.heappop(self._lowest)
        return self._lowest[0] if self._lowest else self._next

    @property
    def behind(self) -> int:
        """How many offsets lie between the position and the end: what would be read again."""
        return self._next - self.position

    @property
    def open_count(self) -> int:
        return len(self._open)
