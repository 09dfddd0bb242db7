"""A string column seen as its bytes, for questions that numpy answers quicker than a
kernel that starts anew for every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class ColumnBytes:
    """All bytes of a column, one row after the other."""

    data: npt.NDArray[np.uint8]
    offsets: Integers
    """Where each row starts in `data`, and where the last one ends."""

    def rows(self, start: int, stop: int) -> ColumnBytes:
        """Some of the rows, without copying their bytes."""
        offsets = self.offsets[start : stop + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        return ColumnBytes(self.data[first:last], offsets - first)

    def where(self, byte: str) -> Integers:
        """The positions of one ASCII character in `data`, rising."""
        return np.flatnonzero(self.data == ord(byte))

    def count(self, byte: str) -> Integers:
        """How often the character occurs in each row."""
        return self.per_row(self.where(byte))

    def per_row(self, positions: Integers) -> Integers:
        """How many of the rising positions lie in each row."""
        if not len(positions):
            return np.zeros(len(self.offsets) - 1, np.int64)
        return np.diff(np.searchsorted(positions, self.offsets))

    def contains(self, byte: str) -> bool:
        """Whether the character occurs anywhere."""
        return bool((self.data == ord(byte)).any())


def column_bytes(urls: pa.Array[Any]) -> ColumnBytes:
    """The bytes of a string (or large_string) column; a null row has none that count."""
    wide = pa.types.is_large_string(urls.type)
    _, offset_buffer, data_buffer = urls.buffers()
    if len(urls) == 0 or offset_buffer is None:
        return ColumnBytes(np.zeros(0, np.uint8), np.zeros(len(urls) + 1, np.int64))
    offsets: Integers = np.frombuffer(memoryview(offset_buffer), np.int64 if wide else np.int32)
    offsets = offsets[urls.offset : urls.offset + len(urls) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    if data_buffer is None:
        return ColumnBytes(np.zeros(0, np.uint8), offsets - first)
    return ColumnBytes(
        np.frombuffer(memoryview(data_buffer), np.uint8)[first:last], offsets - first
    )


def are_within(urls: pa.Array[Any], max_bytes: int) -> pa.BooleanArray:
    """True for each URL of at most so many bytes, which are never fewer than its characters."""
    return pc.less_equal(pc.binary_length(cast("pa.StringArray", urls)), pa.scalar(max_bytes))
