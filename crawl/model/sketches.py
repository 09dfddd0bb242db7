"""How values are distributed, host by host, in a few numbers each: DDSketch as columns.

A value belongs to the bin `ceil(log(value) / log(GAMMA))`; a sketch is how many values are in
which bin. Whatever is read from it is within `ACCURACY` of the truth, two sketches are merged by
adding the counts of equal bins, and there are no more bins than the values' range allows: 400
between a millisecond and two hours, 550 between a byte and two GiB, 43 bytes for a host of twenty
pages. The algorithm is that of Masson, Rim and Lee (VLDB 2019). Here it is columns and not one
object of a library for each host, because the values of all hosts come together: a million
of them on 50,000 hosts take 0.1 s, against 0.25 s (KLL) and 0.3 s (t-digest) with Apache
DataSketches and 2.8 s with the library `ddsketch` (measured).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ACCURACY = 0.02
"""The relative error of what is read from a sketch."""
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
ZERO = -1
"""The bin of values below 1: of none of ours less is known than whole units."""
LAST_BIN = math.ceil(63 * math.log(2) / math.log(GAMMA))

Integers = npt.NDArray[np.int64]


def bins_of(values: npt.NDArray[np.number[Any]]) -> npt.NDArray[np.int16]:
    """The bin of each value, none of which is negative."""
    numbers = np.maximum(values.astype(np.float64), 1)
    bins = np.ceil(np.log(numbers) / math.log(GAMMA))
    bins = np.where(values < 1, ZERO, np.minimum(bins, LAST_BIN))
    return bins.astype(np.int16)


def values_of(bins: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float64]:
    """The value that stands for each bin."""
    values = 2 * np.exp(bins.astype(np.float64) * math.log(GAMMA)) / (GAMMA + 1)
    return np.where(bins == ZERO, 0.0, values)


@dataclass(frozen=True)
class Sketches:
    """The sketches of several owners, numbered from 0: every bin that has anything, by owner and
    then by bin."""

    owners: int
    owner: Integers
    bins: Integers
    counts: Integers

    @classmethod
    def of(cls, owners: int, owner: Integers, bins: Integers, counts: Integers) -> Sketches:
        """Adds up bins, of any owners in any order: new values as well as several sketches."""
        shift = np.int64(1 << 16)
        keys = owner * shift + (bins - ZERO)
        used, place = np.unique(keys, return_inverse=True)
        totals = np.zeros(len(used), dtype=np.int64)
        np.add.at(totals, place, counts)
        return cls(owners, used // shift, used % shift + ZERO, totals)

    @classmethod
    def of_lists(cls, bins: pa.Array[Any], counts: pa.Array[Any]) -> Sketches:
        """As `lists` gave them, an owner each row."""
        lengths = np.diff(bins.offsets.to_numpy())  # type: ignore[attr-defined]  # of lists
        return cls.of(
            len(bins),
            np.repeat(np.arange(len(bins), dtype=np.int64), lengths),
            bins.flatten().to_numpy().astype(np.int64),  # type: ignore[attr-defined]
            counts.flatten().to_numpy().astype(np.int64),  # type: ignore[attr-defined]
        )

    def lists(self) -> tuple[pa.Array[Any], pa.Array[Any]]:
        """Bins and their counts as columns, a row each owner."""
        offsets = pa.array(np.append(0, np.cumsum(self._lengths())).astype(np.int32))
        make: Any = pa.ListArray.from_arrays
        bins = make(offsets, pa.array(self.bins.astype(np.int16)))
        return bins, make(offsets, pa.array(self.counts))

    def totals(self) -> Integers:
        """How many values each owner has."""
        totals = np.zeros(self.owners, dtype=np.int64)
        np.add.at(totals, self.owner, self.counts)
        return totals

    def quantiles(self, shares: Sequence[float]) -> list[npt.NDArray[np.float64]]:
        """For each share (0.95) the least value that so many of an owner's values are not above;
        NaN where it has none."""
        totals, lengths = self.totals(), self._lengths()
        values = values_of(self.bins)
        running = np.cumsum(self.counts)
        first = np.append(0, np.cumsum(lengths))[:-1]
        before = np.append(0, running)[first]
        has_any = totals > 0
        results = []
        for share in shares:
            least_counts = np.maximum(np.ceil(share * totals[has_any]), 1).astype(np.int64)
            ranks = before[has_any] + least_counts - 1
            result = np.full(self.owners, np.nan)
            result[has_any] = values[np.searchsorted(running, ranks, side="right")]
            results.append(result)
        return results

    def _lengths(self) -> Integers:
        return np.bincount(self.owner, minlength=self.owners).astype(np.int64)
