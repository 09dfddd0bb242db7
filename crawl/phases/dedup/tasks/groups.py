"""The best of every group: by the least of one column after the other, among those that are
left. Nothing is sorted but the keys, however large a group is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawl.phases.dedup.tasks.keys import GroupKeys, Numbers


@dataclass(frozen=True, slots=True)
class Groups:
    """Records in groups of two and more, by their places in the columns that were given."""

    places: Numbers
    """Of the records, those of a group together."""
    starts: Numbers
    """Where each group begins in `places`."""

    @property
    def sizes(self) -> Numbers:
        return np.diff(self.starts, append=len(self.places))

    @property
    def numbers(self) -> Numbers:
        """The number of each record's group."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    def best(self, ranks: Sequence[npt.NDArray[Any]]) -> Numbers:
        """Which of `places` is the best of each group; in the last column no two are alike."""
        places = np.arange(len(self.places))
        group = self.numbers
        for rank in ranks:
            if len(places) == len(self.starts):
                break
            values = rank[self.places[places]]
            starts = np.flatnonzero(np.diff(group, prepend=-1))
            least = np.minimum.reduceat(values, starts)
            is_least = values == least[group]
            places, group = places[is_least], group[is_least]
        assert len(places) == len(self.starts)
        return places


def find_groups(keys: GroupKeys) -> Groups:
    """The records that share a key with another."""
    order = np.argsort(keys.high)
    same = np.flatnonzero(np.diff(keys.high[order]) == 0)
    repeats = np.zeros(len(order), np.bool_)
    repeats[same] = repeats[same + 1] = True
    order = order[repeats]
    low = keys.low[order]
    high = keys.high[order]
    if len(order) and (np.diff(low)[np.diff(high) == 0] != 0).any():
        inner = np.lexsort((low, high))
        order, low, high = order[inner], low[inner], high[inner]
        other = (np.diff(high) != 0) | (np.diff(low) != 0)
        edges = np.concatenate([[True], other, [True]])
        alone = edges[:-1] & edges[1:]
        order, low, high = order[~alone], low[~alone], high[~alone]
    if len(order) == 0:
        return Groups(np.zeros(0, np.int64), np.zeros(0, np.int64))
    begins = np.concatenate([[True], (np.diff(high) != 0) | (np.diff(low) != 0)])
    return Groups(order, np.flatnonzero(begins))
