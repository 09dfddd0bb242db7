"""The passage of a page that shows a query's words best, and where they are in it.

Made from the stored text alone: fields are in many languages, and pairs of characters are no
words that could be shown. A regular expression finds words that begin like a stem; each is then
cut by the page's own analyzer to see whether it is meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from crawl.indexing.embedded.languages import group_of
from crawl.indexing.embedded.query_plan import Word
from crawl.indexing.embedded.schema import URL_WORDS, analyzer
from crawl.indexing.embedded.words import UNSPACED, UNSPACED_RUN, plain_form

_MOST_MATCHES = 500
"""In one text: a page that repeats a word makes no more work."""


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
        self._words: re.Pattern[str] | None
        self._ascii_words: re.Pattern[str] | None
        self._runs: re.Pattern[str] | None
        self._tokens: dict[tuple[str, str], int] = {}
        self._fuzzy: dict[tuple[str, int], int] = {}
        beginnings: set[str] = set()
        runs: set[str] = set()
        for number, word in enumerate(words):
            if word.is_excluded:
                continue
            for each in word.fields:
                group = "plain" if each.field == URL_WORDS else each.field.partition("_")[2]
                for token in each.tokens:
                    if UNSPACED_RUN.fullmatch(token):
                        runs.add(token)
                        self._tokens["", token] = number
                        continue
                    self._tokens[group, token] = number
                    if word.typos:
                        self._fuzzy[token, word.typos] = number
                    else:
                        beginnings.add(re.escape(token[: max(2, len(token) - 2)]))
        self._words = None
        self._runs = None
        self._ascii_words = None
        if self._fuzzy:
            self._words = re.compile(rf"[^\W{UNSPACED}]+")
            self._ascii_words = re.compile(r"\w+", re.ASCII)
        elif beginnings:
            either = "|".join(sorted(beginnings, key=len, reverse=True))
            self._words = re.compile(rf"(?<![^\W{UNSPACED}])(?:{either})[^\W{UNSPACED}]*")
            self._ascii_words = re.compile(rf"\b(?:{either})\w*", re.ASCII)
        if runs:
            either = "|".join(map(re.escape, sorted(runs, key=len, reverse=True)))
            self._runs = re.compile(f"(?=({either}))")  # pairs overlap

    def mark(self, text: str, language: str) -> Snippet:
        """A short text as a whole, such as a title."""
        text = plain_form(" ".join(text.split()))
        return Snippet(text, _joined(self._matches(text, language)))

    def snippet(self, text: str, language: str) -> Snippet:
        """The best passage of a text; its beginning where it has none of the words."""
        text = plain_form(" ".join(text.split()))
        matches = self._matches(text, language)
        begin, end = self._window(text, matches)
        inside = [
            _Match(match.begin - begin, match.end - begin, match.number)
            for match in matches
            if begin <= match.begin and match.end <= end
        ]
        shown = text[begin:end]
        lead = "… " if begin else ""
        marks = _joined(inside)
        return Snippet(
            lead + shown + (" …" if end < len(text) else ""),
            tuple((first + len(lead), last + len(lead)) for first, last in marks),
        )

    def _matches(self, text: str, language: str) -> list[_Match]:
        group = group_of(language)
        found: list[_Match] = []
        # the set of all those scripts costs time at every character
        words = self._ascii_words if text.isascii() else self._words
        for match in words.finditer(_folded(text)) if words else ():
            number = self._number(match[0], group)
            if number is not None:
                found.append(_Match(match.start(), match.end(), number))
                if len(found) >= _MOST_MATCHES:
                    break
        for match in islice(self._runs.finditer(text), _MOST_MATCHES) if self._runs else ():
            found.append(_Match(match.start(), match.end(1), self._tokens["", match[1]]))
        found.sort(key=lambda each: each.begin)
        return found

    def _number(self, word: str, group: str) -> int | None:
        token = _token(word, group)
        number = self._tokens.get((group, token))
        if number is None:
            number = self._tokens.get(("plain", word))
        if number is None:
            for (wanted, typos), place in self._fuzzy.items():
                if is_near(token, wanted, typos):
                    return place
        return number

    def _window(self, text: str, matches: list[_Match]) -> tuple[int, int]:
        """Where the passage begins and ends: that with most of the different words."""
        if len(text) <= self._length:
            return 0, len(text)
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
        return begin, end


def is_near(word: str, wanted: str, typos: int) -> bool:
    """Whether so few letters added, left out, changed or exchanged make one of the other."""
    if abs(len(word) - len(wanted)) > typos:
        return False
    before: list[int] = []
    row = list(range(len(wanted) + 1))
    for place, letter in enumerate(word, 1):
        last, before, row = before, row, [place]
        for column, other in enumerate(wanted, 1):
            cost = min(
                before[column] + 1, row[column - 1] + 1, before[column - 1] + (letter != other)
            )
            if (
                place > 1
                and column > 1
                and letter == wanted[column - 2]
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


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def _joined(matches: list[_Match]) -> tuple[tuple[int, int], ...]:
    """The places, those that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for match in matches:
        if found and match.begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], match.end))
        else:
            found.append((match.begin, match.end))
    return tuple(found)
