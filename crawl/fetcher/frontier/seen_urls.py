"""Which URLs a task has met, so that none is fetched twice; bounded, as memory is."""

from __future__ import annotations

MOST = 500_000
"""Some 50 MB."""


class SeenUrls:
    """Numbers of URLs. Nothing is ever forgotten: a full one takes in no more, and whoever
    would add URLs of their own to the list must leave them for later then."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._numbers: set[int] = set()

    def is_new(self, url: str) -> bool:
        """Whether it was not met before; now it was, while there is room."""
        number = hash(url)
        if number in self._numbers:
            return False
        if len(self._numbers) < self._most:
            self._numbers.add(number)
        return True

    @property
    def is_full(self) -> bool:
        return len(self._numbers) >= self._most
