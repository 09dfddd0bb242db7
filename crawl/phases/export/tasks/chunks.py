"""A text in chunks: cut at headings, then at paragraphs, sentences and words.

Chunks are slices that follow each other: joined, they are the text. A section that fits stays
whole, with its subsections; each chunk knows the headings that it stands under.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crawl.maincontent.render import Heading
from crawl.phases.export.values import ChunkUnit

_PARAGRAPH = re.compile(r"\n\s*\n+")
_LINE = re.compile(r"\n+")
_SENTENCE = re.compile(r"(?<=[.!?。！？])(?:\s+|(?<=[。！？]))")
_BLANK = re.compile(r"\s+")
_WORD = re.compile(r"\S+")
_CUTS = (_PARAGRAPH, _LINE, _SENTENCE, _BLANK)
"""Where a section is cut that is too long: the first kind of place that there is."""
_DEEPEST = 6
"""The level of the deepest heading."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a text."""

    start: int
    end: int
    headings: tuple[str, ...]
    """The headings that it stands under, outermost first; its own heading is the last."""


def chunks_of(
    text: str, headings: Sequence[Heading], most: int, unit: ChunkUnit = ChunkUnit.CHARACTERS
) -> list[Chunk]:
    """The chunks of a text, each of at most so many units. The places of the
    headings rise. Only a word that is too long for a chunk of characters is cut in itself."""
    assert most > 0
    if not text:
        return []
    measure = _Words(text, most) if unit is ChunkUnit.WORDS else _Characters(text, most)
    return list(_chunks(text, _Sections(headings), measure))


class _Characters:
    def __init__(self, text: str, most: int) -> None:
        self._length = len(text)
        self._most = most

    def end_from(self, start: int) -> int:
        """The end of the longest chunk that begins there."""
        return min(self._length, start + self._most)


class _Words:
    def __init__(self, text: str, most: int) -> None:
        self._text = text
        self._length = len(text)
        self._most = most
        self._starts = [match.start() for match in _WORD.finditer(text)]

    def end_from(self, start: int) -> int:
        following = bisect_left(self._starts, start) + self._most
        if self._is_inside(start):
            following -= 1  # a word that was cut, as at the end of a Chinese sentence
        return self._starts[following] if following < len(self._starts) else self._length

    def _is_inside(self, place: int) -> bool:
        around = self._text[max(0, place - 1) : place + 1]
        return len(around) == 2 and not around[0].isspace() and not around[1].isspace()


class _Sections:
    """The headings of a text, and which of them are around a place."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self.starts = [heading.at for heading in headings]
        self._levels = [heading.level for heading in headings]
        self._paths: list[tuple[str, ...]] = []
        opened: list[Heading] = []
        for heading in headings:
            while opened and opened[-1].level >= heading.level:
                opened.pop()
            opened.append(heading)
            self._paths.append(tuple(each.title for each in opened))

    def around(self, place: int) -> tuple[int, tuple[str, ...]]:
        """The number of the section (-1: before the first heading), and its headings."""
        at = bisect_right(self.starts, place) - 1
        return at, self._paths[at] if at >= 0 else ()

    def end_of(self, at: int, start: int, length: int) -> int:
        """Where the section ends: with all that is below it, if it begins at `start`; else at
        the next heading, for what was cut is no whole any more."""
        level = self._levels[at] if at >= 0 else 0
        if start != (self.starts[at] if at >= 0 else 0):
            level = _DEEPEST
        for following in range(at + 1, len(self.starts)):
            if self._levels[following] <= level:
                return self.starts[following]
        return length

    def last_within(self, start: int, limit: int) -> int | None:
        """The last heading after `start` and not behind `limit`."""
        at = bisect_right(self.starts, limit) - 1
        return self.starts[at] if at >= 0 and self.starts[at] > start else None


def _chunks(text: str, sections: _Sections, measure: _Characters | _Words) -> Iterator[Chunk]:
    start, length = 0, len(text)
    while start < length:
        at, path = sections.around(start)
        limit = measure.end_from(start)
        end = sections.end_of(at, start, length)
        if end > limit:
            heading = sections.last_within(start, limit)
            end = heading if heading is not None else _cut(text, start, limit)
        yield Chunk(start, end, path)
        start = end


def _cut(text: str, start: int, limit: int) -> int:
    """The best place to cut between the two."""
    window = text[start:limit]
    first = len(window) - len(window.lstrip())
    for pattern in _CUTS:
        last = 0
        for match in pattern.finditer(window):
            if match.start() > first:
                last = match.end()
        if last:
            return start + last
    return limit
