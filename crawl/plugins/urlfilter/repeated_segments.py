"""Which URLs of a column may be too deep or have one path segment several times, told
without making a string of any of them: by the length and the ends of each segment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crawl.urls.columns import ColumnBytes, Integers

_SCHEME_SLASHES = 2
_MAX_DELIMITERS = 64
"""URLs with more are few, and left to the row."""
_ROWS_AT_ONCE = 16384
"""So many fit in a processor's cache, at twice the speed of a long column."""


def may_repeat(characters: ColumnBytes, times: int, depth: int) -> npt.NDArray[np.bool_]:
    """True wherever a path could hold a segment more than `times` times, or more than
    `depth` segments (0: no limit); false only where it surely does not."""
    rows = len(characters.offsets) - 1
    dubious = np.zeros(rows, np.bool_)
    for start in range(0, rows, _ROWS_AT_ONCE):
        part = characters.rows(start, min(start + _ROWS_AT_ONCE, rows))
        dubious[start : start + _ROWS_AT_ONCE] = _part_may_repeat(part, times, depth)
    return dubious


def _part_may_repeat(characters: ColumnBytes, times: int, depth: int) -> npt.NDArray[np.bool_]:
    data = characters.data
    delimiters = np.flatnonzero((data == ord("/")) | (data == ord("?")) | (data == ord("#")))
    first_of_row = np.searchsorted(delimiters, characters.offsets)
    counts = np.diff(first_of_row)
    dubious = counts > depth + _SCHEME_SLASHES if depth else np.zeros(len(counts), np.bool_)
    enough = counts > times + _SCHEME_SLASHES
    if not times or not enough.any():
        return dubious
    keys = _keys(characters, delimiters, counts)
    for count in np.unique(counts[enough]):
        rows = np.flatnonzero(counts == count)
        if count > _MAX_DELIMITERS:
            dubious[rows] = True
            continue
        of_rows = np.sort(keys[first_of_row[rows][:, None] + np.arange(count)], axis=1)
        alike = of_rows[:, times:] == of_rows[:, :-times]
        dubious[rows] |= (alike & (of_rows[:, times:] != 0)).any(axis=1)
    return dubious


def _keys(
    characters: ColumnBytes, delimiters: Integers, counts: Integers
) -> npt.NDArray[np.uint32]:
    """A number for the text after each delimiter, the same for the same text; 0 for none."""
    ends = np.empty(len(delimiters), np.int64)
    ends[:-1] = delimiters[1:]
    has_any = counts > 0
    ends[(np.cumsum(counts) - 1)[has_any]] = characters.offsets[1:][has_any]
    lengths = ends - delimiters - 1
    first = characters.data[np.minimum(delimiters + 1, len(characters.data) - 1)]
    last = characters.data[ends - 1]
    keys = np.zeros(len(lengths), np.uint32)
    np.left_shift(lengths, 16, out=keys, casting="unsafe")
    keys |= np.left_shift(first, 8, dtype=np.uint32)
    keys |= last
    keys[lengths == 0] = 0
    return keys
