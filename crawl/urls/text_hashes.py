"""Numbers of 64 bits that stand for stretches of text: of a whole column at once, and the same
in every process and on every machine.

A polynomial over the bytes, whose sums are taken once for a column: any stretch of any row then
costs two look-ups, wherever it lies. So the parts of a million URLs are compared, left out and
put together as numbers, without a text being made of any of them. A site that makes its own
URLs collide on purpose deceives nobody but those who look at that site.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crawl.urls.columns import ColumnBytes

Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.integer[Any]]

_FACTOR = 0x9E3779B97F4A7C15 | 1
_INVERSE = pow(_FACTOR, -1, 1 << 64)


def mixed(numbers: Numbers) -> Numbers:
    """The numbers well shuffled, each to one of its own (the end of SplitMix64)."""
    bits = numbers ^ (numbers >> np.uint64(30))
    bits = bits * np.uint64(0xBF58476D1CE4E5B9)
    bits = bits ^ (bits >> np.uint64(27))
    bits = bits * np.uint64(0x94D049BB133111EB)
    result: Numbers = bits ^ (bits >> np.uint64(31))
    return result


_OF_BYTES: Numbers = mixed(np.arange(1, 257, dtype=np.uint64) * np.uint64(_FACTOR))
_OF_LOWERED: Numbers = _OF_BYTES.copy()
_OF_LOWERED[ord("A") : ord("Z") + 1] = _OF_BYTES[ord("a") : ord("z") + 1]


class TextHashes:
    """The numbers of the stretches of a column's bytes; `lowered`, as if its ASCII letters were
    lower-case."""

    def __init__(self, text: ColumnBytes, *, lowered: bool = False) -> None:
        size = len(text.data)
        values = (_OF_LOWERED if lowered else _OF_BYTES)[text.data]
        self._back = _powers(_INVERSE, size)
        self._sums: Numbers = np.zeros(size + 1, np.uint64)
        np.cumsum(values * _powers(_FACTOR, size)[:size], out=self._sums[1:])

    def of(self, starts: Places, ends: Places) -> Numbers:
        """The number of each stretch from a start to before its end; equal for equal texts."""
        lengths = (ends - starts).astype(np.uint64)
        sums: Numbers = (self._sums[ends] - self._sums[starts]) * self._back[starts]
        return mixed(sums + lengths * np.uint64(0xD1B54A32D192ED03))


def _powers(factor: int, most: int) -> Numbers:
    powers: Numbers = np.full(most + 1, factor, np.uint64)
    powers[0] = 1
    np.cumprod(powers, out=powers)
    return powers


def row_hashes(text: ColumnBytes) -> Numbers:
    """The number of each row."""
    return TextHashes(text).of(text.offsets[:-1], text.offsets[1:])
