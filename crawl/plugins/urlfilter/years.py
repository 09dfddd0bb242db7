"""The years that a page may be of, also as an expression for those it may not be of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_FIRST, _LAST = 1000, 2999
"""Other numbers of four digits are no years to a reader."""


@dataclass(frozen=True, slots=True)
class YearRange:
    """From `least` to `most`; 0 leaves an end open."""

    least: int
    most: int

    def __contains__(self, year: int) -> bool:
        return self.least <= year and (self.most == 0 or year <= self.most)

    def outside(self) -> str:
        """An expression for every year outside; empty where there is none."""
        later = self.most + 1 if self.most else _LAST + 1
        return "|".join((*_blocks(_FIRST, self.least - 1), *_blocks(max(later, _FIRST), _LAST)))


def _blocks(first: int, last: int) -> Iterator[str]:
    """The numbers from `first` to `last` by whole tens, hundreds and thousands."""
    last = min(last, _LAST)
    while first <= last:
        zeros = 3
        while first % 10**zeros or first + 10**zeros - 1 > last:
            zeros -= 1
        yield str(first)[: 4 - zeros] + "[0-9]" * zeros
        first += 10**zeros
