"""Builders of Arrow columns, for tables whose rows come one at a time.

A row's values are let go of as it is added. Kept until the table is made, hundreds of pages
would have passed through the processor's caches before they are looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.model.table import METADATA

_MAX_BYTES = 2**31 - 1
"""What an array of bytes can address."""


def columns(rows: Sequence[tuple[Any, ...]], types: Sequence[pa.DataType]) -> list[pa.Array[Any]]:
    """The columns of these rows, which may be none."""
    values = zip(*rows, strict=True) if rows else repeat((), len(types))
    return [pa.array(column, kind) for column, kind in zip(values, types, strict=True)]


def table_of_rows(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """A table of these rows, which may be none."""
    return pa.table(columns(rows, schema.types), schema=schema)


def rows_of(table: pa.Table, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """These columns row by row; moments are milliseconds."""
    values = (
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in map(table.column, names)
    )
    return zip(*values, strict=True)


class MapBuilder:
    """Builds a column of maps. Keys and values are made in one go: pairs one by one take thrice
    as long as the whole rest of a table."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._values: list[str] = []
        self._ends = [0]

    def add(self, row: Mapping[str, str]) -> None:
        if row:
            self._keys += row
            self._values += row.values()
        self._ends.append(len(self._keys))

    def array(self) -> pa.MapArray[Any, Any]:
        from_arrays: Any = pa.MapArray.from_arrays  # the stubs know no offsets that are an array
        maps: pa.MapArray[Any, Any] = from_arrays(
            pa.array(self._ends, pa.int32()),
            pa.array(self._keys, pa.string()),
            pa.array(self._values, pa.string()),
            METADATA,
        )
        return maps


class BytesBuilder:
    """Builds a column of bytes in memory of Arrow's pool. A new object of many megabytes would
    take its memory from the kernel each time, which takes as long as to copy the bytes."""

    def __init__(self, room: int) -> None:
        self._whole: list[pa.Array[Any]] = []
        self._begin(room)

    @property
    def room(self) -> int:
        """Bytes that it can take without growing."""
        return int(self._room.size)

    def add(self, value: bytes) -> None:
        begin = self._ends[-1]
        end = begin + len(value)
        if end > self._room.size:
            if end > _MAX_BYTES:
                self._whole.append(self._array())
                self._begin(len(value))
                begin, end = 0, len(value)
            else:
                self._grow(end)
        self._place[begin:end] = value
        self._ends.append(end)

    def array(self) -> pa.Array[Any] | pa.ChunkedArray[Any]:
        last = self._array()
        return pa.chunked_array([*self._whole, last]) if self._whole else last

    def _begin(self, room: int) -> None:
        self._room = pa.allocate_buffer(room)
        self._place = memoryview(self._room).cast("B")
        self._ends = [0]

    def _grow(self, least: int) -> None:
        used = self._place[: self._ends[-1]]
        self._room = pa.allocate_buffer(max(least, 2 * self._room.size))
        self._place = memoryview(self._room).cast("B")
        self._place[: len(used)] = used

    def _array(self) -> pa.Array[Any]:
        used = self._ends[-1]
        values = self._room.slice(0, used)
        if used < self._room.size // 2:
            values = pa.py_buffer(values.to_pybytes())  # an array keeps all of its room
        buffers = [None, pa.py_buffer(np.array(self._ends, np.int32).data), values]
        return pa.Array.from_buffers(pa.binary(), len(self._ends) - 1, buffers)
