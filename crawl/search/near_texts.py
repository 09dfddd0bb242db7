"""Which texts say the same, or nearly: so that copies are one result, on whichever host they are.

A page bears two numbers that are read without the page. That of its text is the same for the same
words. Its sketch is four numbers of 16 bits, each the least that one of four hashes makes of
pieces of the text (MinHash): of nearly equal texts most are equal. Where they are, the texts
themselves are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from zlib import crc32

import numpy as np

_MIN_TEXT = 40
"""Characters below which equal texts say nothing: pages without text, or with a word or two."""
_COMPARED = 4_000
"""Characters of two texts that are compared word by word."""
_SAME = 0.9
"""The share of their groups of words that nearly equal texts have in common."""
_PARTS = 4
_MIN_LIKE_PARTS = 2
"""Parts of the sketches that must be equal for two texts to be compared."""
_PIECE_ENDS = tuple(
    end.encode() for end in ("n ", "d ", "r ", "u ", "0 ", "5 ", ". ", "! ", "? ", "。", "、", "，")
)
"""Where a text is parted: by what it says there, so that a word more or less changes one piece or
two, and in C, for a page has thousands of words."""
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], np.uint64
)


def stable_hash(data: bytes) -> int:
    """A number of 64 bits, the same in every process."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def text_number(text: str, title: str, url: str) -> int:
    """The number of a page's text. Pages that hardly have any are told apart by their title, and
    those without one by their URL: that they say nothing is nothing that they have in common."""
    if len(text) >= _MIN_TEXT:
        return stable_hash(text.encode())
    content = f"{title}\0{text}" if title.strip() else f"{url}\0{text}"
    return stable_hash(content.encode())


def sketch_of(text: str) -> int:
    """The sketch of a text; 0 where it is too short to have one."""
    if len(text) < _MIN_TEXT:
        return 0
    data = text.encode()
    for end in _PIECE_ENDS:
        data = data.replace(end, b"\n")
    hashes = np.array([*map(crc32, data.split(b"\n"))], np.uint64) + np.uint64(1)
    mixed = (hashes[:, None] * _MULTIPLIERS) >> np.uint64(32)
    least = mixed.min(axis=0) & np.uint64(0xFFFF)
    return int.from_bytes(least.astype(">u2").tobytes(), "big") or 1


def parts_of(sketch: int) -> tuple[tuple[int, int], ...]:
    """The parts of a sketch with their places; none where a text has no sketch."""
    if not sketch:
        return ()
    return tuple((place, sketch >> 16 * place & 0xFFFF) for place in range(_PARTS))


class LikeTexts:
    """Sketches that were met, and which of them another is like."""

    def __init__(self) -> None:
        self._by_part: dict[tuple[int, int], list[int]] = {}

    def like(self, sketch: int) -> list[int]:
        """The numbers, in the order in which they were added, of those whose texts are to be
        compared with that of this sketch."""
        parts = parts_of(sketch)
        counts = Counter(chain.from_iterable(self._by_part.get(part, ()) for part in parts))
        return sorted(number for number, count in counts.items() if count >= _MIN_LIKE_PARTS)

    def add(self, sketch: int, number: int) -> None:
        for part in parts_of(sketch):
            self._by_part.setdefault(part, []).append(number)


def shingles(text: str) -> frozenset[int]:
    """Groups of four words of a text's beginning; of characters where there are no spaces."""
    head = text[:_COMPARED].split()
    units: Sequence[str] = head if len(head) >= 40 else "".join(head)
    if len(units) < 8:
        return frozenset()
    return frozenset(map(hash, zip(units, units[1:], units[2:], units[3:], strict=False)))


def is_nearly_same(one: str, other: str) -> bool:
    """Whether two texts have nearly all groups of words in common, and nearly the same length."""
    if min(len(one), len(other)) < _SAME * max(len(one), len(other)):
        return False
    mine, yours = shingles(one), shingles(other)
    both = min(len(mine), len(yours))
    if both < _SAME * max(len(mine), len(yours)) or not both:
        return False
    common = len(mine & yours)
    return common >= _SAME * (len(mine) + len(yours) - common)
