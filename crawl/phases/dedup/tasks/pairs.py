"""Which of the records that share a key are compared: of few each with each, of many each with a
few, and always as many at once as memory is meant for, however many keys they are of; and which of
those that are near each other are the most doubtful."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawl.phases.dedup.tasks.groups import Groups
from crawl.phases.dedup.tasks.keys import Bytes, Numbers

_ALL_PAIRS = 24
"""Records under one key of which each is compared with each."""
PAIRS_AT_ONCE = 1 << 18


def pairs_to_compare(groups: Groups, sketches: Bytes) -> Iterator[tuple[Numbers, Numbers]]:
    """The pairs to compare: of few records all, of many each with the first and the next in the
    order of their sketches."""
    sizes = groups.sizes
    for size in np.unique(sizes[sizes <= _ALL_PAIRS]).tolist():
        starts = groups.starts[sizes == size]
        one, other = np.triu_indices(size, 1)
        step = max(1, PAIRS_AT_ONCE // len(one))
        for at in range(0, len(starts), step):
            some = starts[at : at + step, None]
            yield groups.places[(some + one).ravel()], groups.places[(some + other).ravel()]
    is_crowded = sizes > _ALL_PAIRS
    yield from _crowded(groups, groups.starts[is_crowded], sizes[is_crowded], sketches)


def _crowded(
    groups: Groups, starts: Numbers, sizes: Numbers, sketches: Bytes
) -> Iterator[tuple[Numbers, Numbers]]:
    """Of groups of many records, several groups in one step."""
    windows = (np.cumsum(sizes) - sizes) // PAIRS_AT_ONCE
    for some in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(windows)) + 1):
        counts = sizes[some]
        group = np.repeat(np.arange(len(some)), counts)
        ends = np.cumsum(counts)
        within = np.arange(len(group)) - np.repeat(ends - counts, counts)
        places = groups.places[np.repeat(starts[some], counts) + within]
        numbers = sketches[places, :8].copy().view(np.uint64).ravel()
        places = places[np.lexsort((numbers, group))]
        first = places[np.repeat(ends - counts, counts)]
        follows = np.flatnonzero(within)
        for at in range(0, len(follows), PAIRS_AT_ONCE):
            these = follows[at : at + PAIRS_AT_ONCE]
            yield first[these], places[these]
            yield places[these - 1], places[these]


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two records that are near each other, and how much they are alike."""

    similarity: float
    survivor: int
    other: int


class DoubtfulPairs:
    """The pairs that are the least alike of all that are added, so many at most."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._pairs: list[NearPair] = []

    def add(self, similarities: npt.NDArray[Any], survivors: Numbers, others: Numbers) -> None:
        if not self.most:
            return
        _, once = np.unique(np.stack([survivors, others]), axis=1, return_index=True)
        similarities, survivors, others = similarities[once], survivors[once], others[once]
        least = np.lexsort((others, survivors, similarities))[: self.most]
        columns = (similarities[least], survivors[least], others[least])
        pairs = map(NearPair, *(column.tolist() for column in columns))
        self.add_pairs(tuple(pairs))

    def add_pairs(self, pairs: tuple[NearPair, ...]) -> None:
        """The same of pairs that others have found."""
        every = {(each.survivor, each.other): each for each in (*self._pairs, *pairs)}
        order = sorted(
            every.values(), key=lambda each: (each.similarity, each.survivor, each.other)
        )
        self._pairs = order[: self.most]

    def pairs(self) -> tuple[NearPair, ...]:
        return tuple(self._pairs)
