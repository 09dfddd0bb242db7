"""Merges new rows into a sorted bucket as a stream: the heart of every writer of a table.

The bucket comes as row groups in the order of the table's key, the new rows are sorted too.
Row groups that no new row falls into pass through untouched; memory is one row group and
the new rows, however long the bucket is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import Column, as_array

RowNumbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """Rows of keys that have several: of each key the stored row first, then the new ones in
    the order in which they were given."""

    _rows: pa.Table
    _order: RowNumbers
    """Where the rows of the groups are, group by group."""
    starts: RowNumbers
    """Where each group begins among `rows`."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def rows(self) -> pa.Table:
        """All rows, group by group."""
        return self._rows.take(self._order)

    @property
    def owners(self) -> RowNumbers:
        """The number of the group that each of `rows` belongs to."""
        sizes = np.diff(np.append(self.starts, len(self._order)))
        return np.repeat(np.arange(len(self.starts)), sizes)

    def first(self) -> pa.Table:
        """The first row of each group: the stored one, if any is."""
        return self._rows.take(self._order[self.starts])

    def last(self) -> pa.Table:
        """The last row of each group: the newest."""
        ends = np.append(self.starts, len(self._order))[1:] - 1
        return self._rows.take(self._order[ends])


Combine = Callable[[KeyGroups], pa.Table]
"""Makes one row of every group, in their order; or none of a key that shall be forgotten."""


def keep_stored(groups: KeyGroups) -> pa.Table:
    """The Combine by which what is stored stays."""
    return groups.first()


def replace_stored(groups: KeyGroups) -> pa.Table:
    """The Combine by which the newest row wins."""
    return groups.last()


def merge_sorted(
    base: Iterable[pa.Table], new: pa.Table, combine: Combine, key: Sequence[str]
) -> Iterator[pa.Table]:
    """The union of both, sorted by the columns of `key`; `combine` decides where a key has
    more than one row."""
    for group, first, end in overlaps(base, [new[name] for name in key], key):
        rows = new.slice(first, end - first)
        if group is None:
            if repeats_before(rows, key).any():
                yield _combined(rows, combine, key)
            else:
                yield rows
        elif rows.num_rows == 0:
            yield group
        else:
            yield _combined(pa.concat_tables([group, rows]), combine, key)


def overlaps(
    base: Iterable[pa.Table], columns: Sequence[Column], key: Sequence[str]
) -> Iterator[tuple[pa.Table | None, int, int]]:
    """Each row group of a sorted bucket, and which rows (first, end) of sorted key columns
    belong before its last row or beside it; at the end None and those behind all groups."""
    start, count = 0, len(columns[0])

    def sort_key(row: int) -> tuple[Any, ...]:
        return _sort_key(columns, row)

    for group in base:
        if group.num_rows == 0:
            continue
        last = _sort_key([group[name] for name in key], -1)
        end = bisect_right(range(count), last, lo=start, key=sort_key)
        yield group, start, end
        start = end
    if start < count:
        yield None, start, count


def _sort_key(columns: Sequence[Column], row: int) -> tuple[Any, ...]:
    """A row's key as Python orders it like Arrow: text by its bytes."""
    values = (column[row].as_py() for column in columns)
    return tuple(value.encode() if isinstance(value, str) else value for value in values)


def _combined(rows: pa.Table, combine: Combine, key: Sequence[str]) -> pa.Table:
    """The rows in the order of the key, with one row a key."""
    columns = [as_array(rows[name]) for name in key]
    # a stable sort: the stored row comes right before the new ones of its key
    order = _sort_order(columns)
    repeats = _repeats([column.take(order) for column in columns])
    if not repeats.any():
        return rows.take(order)
    is_first = np.append(True, ~repeats)
    in_group = np.append(False, repeats) | np.append(repeats, False)
    starts = np.flatnonzero(is_first & in_group)
    groups = KeyGroups(rows, order[in_group], np.flatnonzero(is_first[in_group]))
    combined = combine(groups)
    if combined.num_rows == len(starts):
        order[starts] = rows.num_rows + np.arange(len(starts), dtype=order.dtype)
        return pa.concat_tables([rows, combined]).take(order[is_first])
    return sort_by_key(pa.concat_tables([rows.take(order[~in_group]), combined]), key)


def repeats_before(rows: pa.Table, key: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Whether each of these sorted rows but the first has the key of the one before it."""
    return _repeats([as_array(rows[name]) for name in key])


def _repeats(columns: Sequence[pa.Array[Any]]) -> npt.NDArray[np.bool_]:
    pairs = max(len(columns[0]) - 1, 0)
    same = np.ones(pairs, dtype=np.bool_)
    for column in columns:
        equal = pc.equal(column.slice(1), column.slice(0, pairs))
        same &= equal.to_numpy(zero_copy_only=False)
    return same


def _sort_order(columns: Sequence[pa.Array[Any]]) -> RowNumbers:
    if len(columns) == 1:
        return pc.sort_indices(columns[0]).to_numpy().astype(np.int64)
    names = [str(number) for number in range(len(columns))]
    rows = pa.table(list(columns), names=names)
    return _sort_indices(rows, names).to_numpy().astype(np.int64)


def _sort_indices(rows: pa.Table, names: Sequence[str]) -> pa.UInt64Array:
    return pc.sort_indices(rows, [(name, "ascending") for name in names])


def sort_by_key(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows in the order of the key; those of one key keep theirs."""
    return rows.take(_sort_order([as_array(rows[name]) for name in key]))


def sorted_unique(rows: pa.Table, key: Sequence[str], rank: str) -> tuple[pa.Table, int]:
    """Rows sorted by key, of each key the one that ranks highest in column `rank`;
    and how many others there were."""
    ordered = rows.take(_sort_indices(rows, (*key, rank)))
    if ordered.num_rows < 2:
        return ordered, 0
    is_last = np.append(~repeats_before(ordered, key), True)
    return ordered.filter(pa.array(is_last)), int(len(is_last) - is_last.sum())
