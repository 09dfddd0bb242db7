"""Columns of Arrow that grow row by row, where a table's rows come one at a time.

A row's values are let go of as it is added. Kept until the table is made, hundreds of pages
would have passed through the processor's caches before they are looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.model.tables import METADATA

_MOST_BYTES = 2**31 - 1
"""What an array of bytes can address."""


def columns(rows: Sequence[tuple[Any, ...]], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """Of rows that have gathered, which may be none."""
    values = zip(*rows, strict=True) if rows else repeat((), len(types))
    return [pa.array(column, kind) for column, kind in zip(values, types, strict=True)]


class MapBuilder:
    """Of maps: keys and values are made in one go, for pairs one by one take thrice as long
    as the whole rest of a table."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._values: list[str] = []
        self._ends = [0]

    def add(self, row: Mapping[str, str]) -> None:
        if row:
            self._keys += row
            self._values += row.values()
        self._ends.append(len(self._keys))

    def array(self) -> pa.MapArray:
        return pa.MapArray.from_arrays(
            pa.array(self._ends, pa.int32()),
            pa.array(self._keys, pa.string()),
            pa.array(self._values, pa.string()),
            METADATA,
        )


class BytesBuilder:
    """Of bytes, in memory of Arrow's pool: that of a new object of many megabytes is the
    kernel's each time, and takes as long to get as the bytes to copy."""

    def __init__(self, room: int) -> None:
        self._whole: list[pa.Array] = []
        self._begin(room)

    @property
    def room(self) -> int:
        """Bytes that it can take without growing."""
        return int(self._room.size)

    def add(self, value: bytes) -> None:
        begin = self._ends[-1]
        end = begin + len(value)
        if end > self._room.size:
            if end > _MOST_BYTES:
                self._whole.append(self._array())
                self._begin(len(value))
                begin, end = 0, len(value)
            else:
                self._grow(end)
        self._place[begin:end] = value
        self._ends.append(end)

    def array(self) -> pa.Array | pa.ChunkedArray:
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

    def _array(self) -> pa.Array:
        used = self._ends[-1]
        values = self._room.slice(0, used)
        if used < self._room.size // 2:
            values = pa.py_buffer(values.to_pybytes())  # an array keeps all of its room
        buffers = [None, pa.py_buffer(np.array(self._ends, np.int32)), values]
        return pa.Array.from_buffers(pa.binary(), len(self._ends) - 1, buffers)
