"""Texts as sets of numbers: every three words that follow each other are one, and of these the
least are a sample by which two texts can be compared.

A word is what stands between blanks and marks; in scripts without blanks a character is one.
Bytes of many texts are looked at as one array: no text is touched on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.phases.dedup.tasks.keys import Hashes, Keys, Numbers, mixed
from crawl.urls.columns import column_bytes

SAMPLE = 512
"""Shingles of a text that are kept: a page of nine parts template has 50 of its own left, and of
texts that have nine tenths in common the share is known to 1.3%."""
WORDS = 3
"""Of a shingle: one word in ten changed leaves 57% of them in common, and texts of the same
language that have nothing to do with each other share next to none."""
_MAX_BYTES = 400_000
"""Of a text without end the beginning must do."""
_BATCH_BYTES = 1 << 20
_BASE = np.uint64(0x9FB21C651E98DF25)
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
_STEPS = np.array([0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB], np.uint64)

_IS_WORD = np.zeros(256, np.bool_)
_IS_WORD[[*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B), *range(0x80, 0x100)]] = True
_BYTE_NUMBERS = mixed(np.arange(256, dtype=np.uint64), np.uint64(77))


@dataclass(frozen=True, slots=True)
class Samples:
    """Rising numbers of many texts, one text after the other."""

    values: Hashes
    offsets: Numbers
    """Where each text begins in `values`, and where the last one ends."""
    sizes: Numbers
    """How many shingles each text has: of more than a sample holds, the least are in it."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def texts(self) -> Numbers:
        """The text of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


def sample_texts(texts: pa.Array[Any]) -> Samples:
    """The samples of a column of texts; an empty one for a text without a word."""
    short: Any = pc.binary_slice(cast("Any", texts.cast(pa.binary())), 0, _MAX_BYTES)
    lengths = np.diff(column_bytes(short).offsets)
    ends = np.flatnonzero(np.diff(np.cumsum(lengths) // _BATCH_BYTES, append=-1))
    parts: list[Hashes] = []
    counts: list[Numbers] = [np.zeros(0, np.int64)]
    begin = 0
    for end in (ends + 1).tolist():
        values, count = _sampled(short.slice(begin, end - begin))
        parts.append(values)
        counts.append(count)
        begin = end
    joined = np.concatenate([np.zeros(0, np.uint32), *parts])
    sizes = np.concatenate(counts)
    return Samples(joined, np.append(0, np.cumsum(np.minimum(sizes, SAMPLE))), sizes)


def _sampled(texts: pa.Array[Any]) -> tuple[Hashes, Numbers]:
    """The samples of some texts, and how many shingles each has."""
    words, owner = _words(texts)
    shingles, owner = _shingled(words, owner)
    numbers = np.unique(
        (owner.astype(np.uint64) << np.uint64(32)) | (mixed(shingles) >> np.uint64(32))
    )
    owner = (numbers >> np.uint64(32)).astype(np.int64)
    firsts = np.searchsorted(owner, np.arange(len(texts)))
    in_sample = np.arange(len(numbers)) - firsts[owner] < SAMPLE
    return numbers[in_sample].astype(np.uint32), np.bincount(owner, minlength=len(texts))


def _words(texts: pa.Array[Any]) -> tuple[Keys, Numbers]:
    """A number for each word, and the text that it is of."""
    column = column_bytes(texts)
    data, offsets = column.data, column.offsets
    if len(data) == 0:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    upper = (data >= 0x41) & (data <= 0x5A)
    data = np.where(upper, data | 0x20, data)
    word = _IS_WORD[data]
    begins = word.copy()
    begins[1:] &= ~word[:-1]
    starts = offsets[:-1][offsets[:-1] < len(data)]
    begins[starts] = word[starts]
    alone = (data >= 0xE3) & (data <= 0xED)  # of characters that are words
    begins |= alone
    begins[3:] |= alone[:-3] & word[3:]
    first = np.flatnonzero(begins)
    stops = np.flatnonzero(begins | ~word)
    place = np.searchsorted(stops, first, side="right")
    last = np.append(stops, len(data))[place]
    powers, inverses = _powers(-(-len(data) // _BATCH_BYTES) * _BATCH_BYTES)
    summed = np.empty(len(data) + 1, np.uint64)
    summed[0] = 0
    np.cumsum(_BYTE_NUMBERS[data] * powers[: len(data)], out=summed[1:])
    numbers = (summed[last] - summed[first]) * inverses[first]
    return mixed(numbers), np.searchsorted(offsets, first, side="right") - 1


@lru_cache(maxsize=2)
def _powers(count: int) -> tuple[Keys, Keys]:
    columns = []
    for base in (_BASE, _INVERSE):
        powers = np.full(count, base, np.uint64)
        powers[0] = 1
        columns.append(np.multiply.accumulate(powers))
    return columns[0], columns[1]


def _shingled(words: Keys, owner: Numbers) -> tuple[Keys, Numbers]:
    """The shingles of texts; one of fewer words is one shingle."""
    count = len(words)
    if count == 0:
        return words, owner
    at = np.arange(count)
    edges = np.searchsorted(owner, owner, side="right")
    firsts = np.searchsorted(owner, owner)
    is_begin = (at + WORDS <= edges) | ((at == firsts) & (edges - firsts < WORDS))
    at, edges = at[is_begin], edges[is_begin]
    shingles = np.zeros(len(at), np.uint64)
    for step in range(WORDS):
        inside = at + step < edges
        shingles[inside] += words[at[inside] + step] * _STEPS[step]
    return shingles, owner[at]
