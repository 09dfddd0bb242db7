"""New rows of a slice, however many, in ranges of the key that fit into memory.

Where all fit, there is one range. Else they are looked through for a sample of their keys, put
aside range by range on the local disk, and read again one range at a time, beside the stored
rows that lie in it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, strings
from crawl.tables.exchange import Received, RowKind
from crawl.tables.rows_aside import RowsAside
from crawl.tables.slices import places_among
from crawl.tables.spill import Spill

_MAX_BYTES = 256 << 20
"""Of the rows of a range, as they are in memory."""
_SAMPLED = 256
"""Keys of each range of which a sample consists, about."""
_MAX_RANGES = 128
"""That rows are parted into at once: of each some wait to be put aside."""

Thin = Callable[[pa.Table], pa.Table]
"""Leaves out rows that will not matter, whatever comes after them."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The new rows below a key, and not below those before it; None: up to the last key."""

    end: str | None
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class NewRows:
    """New rows in any order, that can be read as often as need be."""

    schema: pa.Schema
    column: str
    """The first column of the key."""
    tables: Callable[[], Iterator[pa.Table]]
    thin: Thin | None = None
    """Applied where the rows of one key alone are too many."""

    @classmethod
    def received(
        cls, received: Received, kind: RowKind, column: str, thin: Thin | None = None
    ) -> NewRows:
        return cls(kind.schema, column, lambda: received.tables(kind), thin)

    def ranges(self) -> Iterator[KeyRange]:
        """The rows range by range; one range with all of them where they fit, and always the
        last without an end. Within a range they are in the order in which they were given."""
        gathered, size, rows = [self.schema.empty_table()], 0, 0
        for table in self.tables():
            size, rows = size + table.nbytes, rows + table.num_rows
            if size <= _MAX_BYTES:
                gathered.append(table)
            else:
                gathered.clear()
        if size <= _MAX_BYTES:
            yield KeyRange(None, pa.concat_tables(gathered))
            return
        bounds = self._bounds(rows, min(_MAX_RANGES, 1 + 2 * size // _MAX_BYTES))
        if not bounds:
            yield KeyRange(None, self._of_one_key())
            return
        parts = self._parted(bounds)
        for end, part in zip([*bounds, None], parts, strict=True):
            for inner in replace(self, tables=part.tables).ranges():
                yield replace(inner, end=end) if inner.end is None else inner
                del inner  # or it stays in memory while the next is read

    def _bounds(self, rows: int, count: int) -> list[str]:
        """Keys that part the rows evenly, by a sample; none where all have the same key."""
        step = max(1, rows // (count * _SAMPLED))
        sample: list[bytes] = []
        skipped = 0
        for table in self.tables():
            keys = table[self.column]
            places = np.arange(skipped, table.num_rows, step)
            skipped = (skipped - table.num_rows) % step
            sample += [key.encode() for key in strings(keys.take(places))]
            if table.num_rows:
                sample += [str(pc.min(keys).as_py()).encode(), str(pc.max(keys).as_py()).encode()]
        sample.sort()
        distinct = sorted(set(sample))
        places = np.linspace(0, len(sample) - 1, count + 1).astype(np.int64)
        bounds = {sample[place] for place in places.tolist()}
        # a key that has very many rows is parted from the next one too
        behind = [bisect_right(distinct, key) for key in bounds]
        bounds |= {distinct[place] for place in behind if place < len(distinct)}
        return [key.decode() for key in sorted(bounds - {distinct[0]})]

    def _parted(self, bounds: list[str]) -> list[RowsAside]:
        spill = Spill()
        parts = [RowsAside(self.schema, spill) for _ in range(len(bounds) + 1)]
        for table in self.tables():
            places = places_among(as_array(table[self.column]), bounds)
            for place in np.unique(places).tolist():
                parts[place].add(table.filter(pa.array(places == place)))
        for part in parts:
            part.put_aside()
        return parts

    def _of_one_key(self) -> pa.Table:
        """All rows, which have one key, as far as they matter."""
        gathered = self.schema.empty_table()
        for table in self.tables():
            gathered = pa.concat_tables([gathered, table])
            if self.thin is not None and gathered.nbytes > _MAX_BYTES:
                gathered = self.thin(gathered)
        return gathered


class StoredGroups:
    """The stored row groups of a slice, taken range by range."""

    def __init__(self, groups: Iterable[pa.Table], column: str) -> None:
        self._groups = iter(groups)
        self._column = column
        self._rest: pa.Table | None = None

    def below(self, end: str | None) -> Iterator[pa.Table]:
        """The rows that are left below a key; None: all that are left."""
        while (group := self._next()) is not None:
            if end is None:
                yield group
                continue
            place = _rows_below(as_array(group[self._column]), end)
            if place:
                yield group.slice(0, place)
            if place < group.num_rows:
                self._rest = group.slice(place)
                return

    def _next(self) -> pa.Table | None:
        group, self._rest = self._rest, None
        return next(self._groups, None) if group is None else group


def _rows_below(keys: pa.Array[Any], end: str) -> int:
    """How many of the rising keys are below one."""

    def key_at(row: int) -> bytes:
        return str(keys[row].as_py()).encode()

    return bisect_left(range(len(keys)), end.encode(), key=key_at)
