"""Sketches of texts: 64 bytes by which two can be compared, and keys under which those that are
alike meet.

What a host repeats on page after page (menus, footers) says nothing of a page and is left out
first: shingles that at least a fifth of its pages have, and four of them. MinHash, because what it
estimates, the share of shingles in common, is what the option names; simhash, a distance of bits,
is there for crawls whose signatures are simhashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crawl.phases.dedup.tasks.keys import Bytes, Hashes, Keys, Mask, mixed
from crawl.phases.dedup.tasks.shingles import Samples

WIDTH = 64
"""Numbers of a sketch, of each of which a byte is kept to compare."""
BANDS = 32
"""Keys of a sketch: each is of three of its numbers."""
_ROWS = 3
_TEMPLATE_SHARE = 0.2
_TEMPLATE_PAGES = 4
_PIECE_PAGES = 20_000
"""Pages whose hosts are looked at together."""
_MISSING = np.uint32(0xFFFFFFFF)

_CHOSEN = np.array(
    [np.random.default_rng(band).choice(WIDTH, _ROWS, replace=False) for band in range(BANDS)]
)


def without_templates(samples: Samples, hosts: Keys) -> Samples:
    """The samples without what their hosts repeat; a page of nothing else keeps all. Pages of a
    host must lie together."""
    is_own = np.ones(len(samples.values), np.bool_)
    for begin, end in _pieces(hosts):
        first, last = samples.offsets[begin], samples.offsets[end]
        is_own[first:last] = ~_repeated(
            samples.values[first:last],
            np.repeat(hosts[begin:end], np.diff(samples.offsets[begin : end + 1])),
            hosts[begin:end],
        )
    texts = samples.texts
    own = np.bincount(texts, is_own, len(samples))
    is_own |= (own == 0)[texts]
    counts = np.bincount(texts[is_own], minlength=len(samples))
    held = np.maximum(1, np.diff(samples.offsets))
    sizes = np.rint(samples.sizes * (counts / held)).astype(np.int64)
    return Samples(samples.values[is_own], np.append(0, np.cumsum(counts)), sizes)


def _pieces(hosts: Keys) -> Iterator[tuple[int, int]]:
    """Pages to look at together: whole hosts, or as much of one as fits."""
    begin = 0
    edges = [*np.flatnonzero(np.diff(hosts)).tolist(), len(hosts) - 1]
    for edge, after in zip(edges, [*edges[1:], 0], strict=True):
        end = edge + 1
        while end - begin > _PIECE_PAGES:
            yield begin, begin + _PIECE_PAGES
            begin += _PIECE_PAGES
        if after + 1 - begin > _PIECE_PAGES or not after:
            if end > begin:
                yield begin, end
            begin = end


def _repeated(values: Hashes, owners: Keys, pages: Keys) -> Mask:
    """Whether each value is one that the host of its page repeats."""
    hosts, sizes = np.unique(pages, return_counts=True)
    number = np.searchsorted(hosts, owners).astype(np.uint64)
    pairs = (number << np.uint64(32)) | values.astype(np.uint64)
    _, places, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    least = np.maximum(_TEMPLATE_PAGES, np.ceil(_TEMPLATE_SHARE * sizes))
    return np.asarray(counts[places] >= least[number.astype(np.int64)])


def minima(samples: Samples) -> Hashes:
    """Of each text the least value of each of 64 parts; a part without one has that of another.
    Texts must have a value."""
    sketches = np.full((len(samples), WIDTH), _MISSING, np.uint32)
    part = (mixed(samples.values.astype(np.uint64)) % np.uint64(WIDTH)).astype(np.int64)
    cells = samples.texts * WIDTH + part
    order = np.argsort(cells, kind="stable")  # values rise within a text
    cells = cells[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    sketches.reshape(-1)[cells[first]] = samples.values[order[first]]
    empty = sketches == _MISSING
    filled = ~empty
    for attempt in range(4 * WIDTH):
        rows, columns = np.nonzero(empty)
        if len(rows) == 0:
            break
        seeds = (columns + WIDTH * attempt).astype(np.uint64)
        other = (mixed(seeds, np.uint64(5)) % np.uint64(WIDTH)).astype(np.int64)
        usable = filled[rows, other]
        sketches[rows[usable], columns[usable]] = sketches[rows[usable], other[usable]]
        empty[rows[usable], columns[usable]] = False
    return sketches


def sketch_bytes(values: Hashes) -> Bytes:
    """A byte of each number."""
    return (mixed(values.astype(np.uint64), np.uint64(9)) & np.uint64(0xFF)).astype(np.uint8)


def band_keys(values: Hashes) -> Keys:
    """Of each sketch its keys; texts that share half of their shingles share one but for one
    time in a hundred."""
    wide = mixed(values.astype(np.uint64))
    keys = np.empty((len(values), BANDS), np.uint64)
    for band in range(BANDS):
        one, two, three = _CHOSEN[band].tolist()
        joined = wide[:, one] + mixed(wide[:, two]) * np.uint64(3) + wide[:, three] * np.uint64(5)
        keys[:, band] = mixed(joined, np.uint64(band))
    return keys


def similarities(ones: Bytes, others: Bytes) -> npt.NDArray[Any]:
    """The share of shingles that two texts have in common (Jaccard), by their sketches."""
    same = (ones == others).mean(axis=1)
    chance = 1 / 256
    return np.asarray(np.maximum(0.0, (same - chance) / (1 - chance)))
