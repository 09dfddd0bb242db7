"""The passage of a page that shows a query's words best, and where they are in it.

Made from the stored text alone: fields have the words of many languages, and pairs of characters
are no words that could be shown. Words that begin like a stem are looked for, as strings; each is
then cut by the page's own analyzer to see whether it is meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from crawl.search.languages import group_of
from crawl.search.query_plan import Word
from crawl.search.schema import analyzer
from crawl.search.words import UNSPACED, UNSPACED_RUN, plain_form

_MAX_MATCHES = 500
"""In one text: a page that repeats a word makes no more work."""
_MAX_LOOKS = 2_000
"""At places that might begin a word of the query."""
_LOOKED_AT = 4_000
"""Characters of a text at a time."""
_LONGEST_WORD = 80

_WORD = re.compile(rf"[^\W_{UNSPACED}]+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage and the places in it, as (begin, end), that match the query."""

    text: str
    highlights: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Match:
    begin: int
    end: int
    number: int
    """Of the word in the query."""


class Highlighter:
    """Finds the words of one query in texts."""

    def __init__(self, words: Sequence[Word], length: int) -> None:
        self._length = length
        self._numbers: dict[str, int] = {}
        self._runs: dict[str, int] = {}
        self._like: list[tuple[str, int, int]] = []
        beginnings: set[str] = set()
        for number, word in enumerate(words):
            for token in word.tokens if not word.is_excluded else ():
                if UNSPACED_RUN.fullmatch(token):
                    self._runs.setdefault(token, number)
                    continue
                self._numbers.setdefault(token, number)
                beginnings.add(token[: max(2, len(token) - 2)])
                if word.typos:
                    self._like.append((token, word.typos, number))
        # what begins with another is found with it
        self._beginnings = tuple(
            each
            for each in sorted(beginnings)
            if not any(each != other and each.startswith(other) for other in beginnings)
        )
        self._sought = len({*self._numbers.values(), *self._runs.values()})
        self._number = cache(self._looked_up)

    def mark(self, text: str, language: str) -> Snippet:
        """A short text as a whole, such as a title."""
        text = plain_form(" ".join(text.split()))
        return Snippet(text, _joined(self._matches(text, 0, len(text), group_of(language))))

    def snippet(self, text: str, language: str) -> Snippet:
        """The best passage of a stored text, which is in one line and plain; its beginning where
        it has none of the words. The first that has all of them is the best: what is behind it is
        not looked at."""
        group = group_of(language)
        matches: list[_Match] = []
        window, begin_ = (0, min(len(text), self._length)), 0
        while begin_ < len(text):
            end = min(len(text), begin_ + _LOOKED_AT)
            blank = text.find(" ", end, end + _LONGEST_WORD)
            end = blank if blank >= 0 else end
            more = self._matches(text, begin_, end, group)
            begin_ = end
            if more:
                matches += more
                window, words = self._window(text, matches)
                if words == self._sought or len(matches) >= _MAX_MATCHES:
                    break
        begin, end = window
        inside = [
            _Match(match.begin - begin, match.end - begin, match.number)
            for match in matches
            if begin <= match.begin and match.end <= end
        ]
        lead = "… " if begin else ""
        return Snippet(
            lead + text[begin:end] + (" …" if end < len(text) else ""),
            tuple((first + len(lead), last + len(lead)) for first, last in _joined(inside)),
        )

    def _matches(self, text: str, begin: int, end: int, group: str) -> list[_Match]:
        """The places of the words between two places of a text, in order."""
        matches: list[_Match] = []
        part = text[begin:end]
        if self._numbers:
            folded = folded_text(part)
            for match in self._words(folded):
                number = self._number(match[0], group)
                if number is not None:
                    matches.append(_Match(begin + match.start(), begin + match.end(), number))
                    if len(matches) >= _MAX_MATCHES:
                        break
        for token, number in self._runs.items():
            at = part.find(token)
            for _ in range(_MAX_MATCHES):  # pairs overlap
                if at < 0:
                    break
                matches.append(_Match(begin + at, begin + at + len(token), number))
                at = part.find(token, at + 1)
        matches.sort(key=lambda each: (each.begin, each.end))
        return matches

    def _words(self, folded: str) -> Iterator[re.Match[str]]:
        """The words that begin as one of the query does; all where letters may differ."""
        if self._like:
            yield from words_of(folded)
            return
        pattern = _word_pattern(folded)
        for beginning in self._beginnings:
            at = folded.find(beginning)
            for _ in range(_MAX_LOOKS):
                if at < 0:
                    break
                before = folded[at - 1] if at else " "
                match = None
                if not before.isalnum() or UNSPACED_RUN.match(before):
                    match = pattern.match(folded, at)
                if match is not None:
                    yield match
                at = folded.find(beginning, at + 1 if match is None else match.end())

    def _looked_up(self, word: str, group: str) -> int | None:
        """The number of the query's word that a word of a text is."""
        token = _token(word, group)
        number = self._numbers.get(token, self._numbers.get(word))
        if number is None:
            for sought, typos, like in self._like:
                if is_near(token, sought, typos):
                    return like
        return number

    def _window(self, text: str, matches: list[_Match]) -> tuple[tuple[int, int], int]:
        """Where the passage begins and ends that has most of the different words, and how many
        those are."""
        if len(text) <= self._length:
            return (0, len(text)), self._sought
        best, begin = (0, 0), 0
        last = 0
        for first, match in enumerate(matches):
            limit = match.begin + self._length * 3 // 4
            last = max(last, first)
            while last < len(matches) and matches[last].end <= limit:
                last += 1
            inside = matches[first : min(last, first + 50)]
            value = (len({each.number for each in inside}), len(inside))
            if value > best:
                best, begin = value, match.begin
        begin = max(0, min(begin - self._length // 4, len(text) - self._length))
        if begin:
            blank = text.find(" ", begin, begin + 30)
            begin = blank + 1 if blank >= 0 else begin
        end = min(len(text), begin + self._length)
        if end < len(text):
            blank = text.rfind(" ", end - 30, end)
            end = blank if blank > begin else end
        return (begin, end), best[0]


def words_of(folded: str) -> Iterator[re.Match[str]]:
    """The words of a folded text; pairs of characters, where there are no spaces, are none."""
    return _word_pattern(folded).finditer(folded)


def _word_pattern(folded: str) -> re.Pattern[str]:
    # the set of all scripts without spaces costs time at every character
    return _ASCII_WORD if folded.isascii() else _WORD


def is_near(word: str, target: str, typos: int) -> bool:
    """Whether so few letters added, left out, changed or exchanged make one of the other."""
    if abs(len(word) - len(target)) > typos:
        return False
    before: list[int] = []
    row = list(range(len(target) + 1))
    for place, letter in enumerate(word, 1):
        last, before, row = before, row, [place]
        for column, other in enumerate(target, 1):
            cost = min(
                before[column] + 1, row[column - 1] + 1, before[column - 1] + (letter != other)
            )
            if (
                place > 1
                and column > 1
                and letter == target[column - 2]
                and word[place - 2] == other
            ):
                cost = min(cost, last[column - 2] + 1)
            row.append(cost)
        if min(row) > typos:
            return False
    return row[-1] <= typos


@lru_cache(maxsize=20_000)
def _token(word: str, group: str) -> str:
    tokens = analyzer(group).analyze(word[:100])
    return tokens[0] if len(tokens) == 1 else ""


class _Folding(dict[int, int]):
    """Letters without their accents, one for one, so that places stay the same."""

    def __missing__(self, code: int) -> int:
        lower = chr(code).lower()
        base = unicodedata.normalize("NFD", lower)[:1] if len(lower) == 1 else chr(code)
        is_mark = unicodedata.combining(base or "x") != 0
        folded = code if is_mark or UNSPACED_RUN.fullmatch(chr(code)) else ord(base)
        self[code] = folded
        return folded


_FOLDING = _Folding()


def folded_text(text: str) -> str:
    """A text in small letters without accents; every letter stays in its place."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def _joined(matches: list[_Match]) -> tuple[tuple[int, int], ...]:
    """The places, those that touch or overlap as one."""
    places: list[tuple[int, int]] = []
    for match in matches:
        if places and match.begin <= places[-1][1]:
            places[-1] = (places[-1][0], max(places[-1][1], match.end))
        else:
            places.append((match.begin, match.end))
    return tuple(places)
