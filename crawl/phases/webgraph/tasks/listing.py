"""The largest first, of a list that no task has whole: pages, hosts or domains by a value.

Each task counts the values of its share by their leading bits; with the sum of that the driver
knows how many are where, and gives every task of the second step a range of values: it sorts what
it receives, and the files of all of them, one behind the other, are the list in order. A list of
the first N is cut where the counts say so: it is that of the whole graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.graph.kernels.page_rank import Floats
from crawl.model.arrow import optional_schema
from crawl.tables.exchange import Outbox, Received, RowKind

Bits = npt.NDArray[np.uint64]

LISTED = RowKind(
    "listed",
    optional_schema(
        {"name": pa.string(), "value": pa.float64(), "part": pa.int32(), "row": pa.int64()}
    ),
)
"""A name with its value, and where it comes from: of equal values the first comes first."""

_BIN_SHIFT = np.uint64(44)
"""Values of a bin share their leading 20 bits: they differ by less than half a percent."""
_SIGN = np.uint64(1 << 63)
_ROWS_PER_RANGE = 1 << 20
"""That are worth a task of their own."""


class Values(Protocol):
    """Names with values, in numbered parts."""

    def values(self, part: int) -> Floats:
        """The values of a part."""
        ...

    def names(self, part: int) -> Iterator[pa.ChunkedArray[pa.StringScalar]]:
        """Their names, in the same order, some at a time."""
        ...


def bins_of(values: Floats) -> Bits:
    """The bin of each value; a larger value has no smaller bin."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    negative = (bits & _SIGN) != 0
    ordered: Bits = np.where(negative, ~bits, bits | _SIGN) >> _BIN_SHIFT
    return ordered


@dataclass(frozen=True, eq=False)
class BinCounts:
    """How many values of a part are in which bin, and the least and greatest of them."""

    bins: Bits
    counts: npt.NDArray[np.int64]
    lowest: Floats
    highest: Floats


def count_bins(source: Values, part: int) -> BinCounts:
    """The values of a part by bin."""
    values = source.values(part)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    bins, starts, counts = np.unique(bins_of(ordered), return_index=True, return_counts=True)
    return BinCounts(bins, counts, ordered[starts], ordered[starts + counts - 1])


@dataclass(frozen=True, eq=False)
class ListPlan:
    """Which task of the second step gets which values."""

    bins: Bits
    """Ascending; values of others are not listed."""
    ranges: npt.NDArray[np.int32]
    """The range of each bin."""
    by_part: dict[int, npt.NDArray[np.int32]] = field(default_factory=dict)
    """Of bins of one value that is very frequent, by their place: the range of each part."""
    lengths: tuple[int, ...] = ()
    """How many are listed of each range."""

    def range_of(self, part: int, values: Floats) -> npt.NDArray[np.int32]:
        """The range of each value of a part; -1 for those that are not listed."""
        if len(self.bins) == 0:
            return np.full(len(values), -1, dtype=np.int32)
        bins = bins_of(values)
        places = np.minimum(np.searchsorted(self.bins, bins), len(self.bins) - 1)
        result = np.where(self.bins[places] == bins, self.ranges[places], -1).astype(np.int32)
        for place, ranges in self.by_part.items():
            result[bins == self.bins[place]] = ranges[part]
        return result


def plan_list(parts: Sequence[BinCounts], most: int | None) -> ListPlan:
    """Ranges of values from the largest down, of a task's work each, until `most` are listed."""
    bins = np.unique(np.concatenate([np.zeros(0, np.uint64), *(part.bins for part in parts)]))
    counts = np.zeros((len(bins), len(parts)), dtype=np.int64)
    lowest, highest = np.full(len(bins), np.inf), np.full(len(bins), -np.inf)
    for number, part in enumerate(parts):
        places = np.searchsorted(bins, part.bins)
        counts[places, number] = part.counts
        lowest[places] = np.minimum(lowest[places], part.lowest)
        highest[places] = np.maximum(highest[places], part.highest)
    most = int(counts.sum()) if most is None else most
    ranges = np.full(len(bins), -1, dtype=np.int32)
    by_part: dict[int, npt.NDArray[np.int32]] = {}
    sizes: list[int] = [0]

    def add(rows: int) -> int:
        """The range that has room for so many more."""
        if sizes[-1] and sizes[-1] + rows > _ROWS_PER_RANGE:
            sizes.append(0)
        sizes[-1] += rows
        return len(sizes) - 1

    listed_rows = 0
    for place in range(len(bins) - 1, -1, -1):
        if listed_rows >= most:
            break
        total = int(counts[place].sum())
        listed_rows += total
        if total > _ROWS_PER_RANGE and lowest[place] == highest[place]:
            by_part[place] = np.array([add(int(rows)) for rows in counts[place]], dtype=np.int32)
            ranges[place] = by_part[place][0]
        else:
            ranges[place] = add(total)
    ends = np.minimum(np.cumsum(sizes), most)
    listed = np.flatnonzero(ranges >= 0)
    moved = {int(place - listed[0]): each for place, each in by_part.items()}
    lengths = tuple(np.diff(ends, prepend=0).tolist())
    return ListPlan(bins[listed], ranges[listed], moved, lengths)


def send_listed(source: Values, plan: ListPlan, part: int, outbox: Outbox) -> None:
    """Sends the names and values of a part that may be listed to their ranges."""
    values = source.values(part)
    ranges = plan.range_of(part, values)
    begin = 0
    for names in source.names(part):
        end = begin + len(names)
        rows = np.flatnonzero(ranges[begin:end] >= 0)
        if len(rows):
            places = begin + rows
            parts = np.full(len(rows), part, dtype=np.int32)
            columns = [names.take(rows), values[places], parts, places]
            outbox.send(LISTED, pa.table(columns, schema=LISTED.schema), ranges[places])
        begin = end


def sorted_list(count: int, received: Received) -> pa.Table:
    """The names and values of a range, the largest first, as many as are listed."""
    rows = received.rows(LISTED)
    order = np.lexsort((rows["row"].to_numpy(), rows["part"].to_numpy(), -rows["value"].to_numpy()))
    return rows.take(order[:count]).select(["name", "value"])
