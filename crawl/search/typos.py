"""Looks for words that no page contains with a typo or two, within a bound.

Each field has to be gone through for each form of it, which takes a thousand times as long as to
look up a word as it is; and the query comes from anybody. So it is done once for a word, for the
first words of a query alone, and for so many fields and forms: what was left is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tantivy

from crawl.search.collection import Collection
from crawl.search.schema import schema

MAX_WORDS = 6
"""Words of a query that are looked for with typos: people misspell one or two."""
MAX_LOOKUPS = 500
"""Fields, a form at a time, that are gone through for a query after its first word."""
_SHORTEST, _LONG, _LONGEST = 4, 8, 40
"""Letters of a word for one typo, for two, and above which it is no misspelt word."""


@dataclass(frozen=True, slots=True)
class LikeWords:
    """How a word was found."""

    typos: int
    """How many letters may differ."""
    fields: frozenset[str]
    """Those that have such words."""


_NONE = LikeWords(0, frozenset())


class TypoSearch:
    """The work that one query may cause."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._words = 0
        self._lookups = 0

    def look_up(self, tokens: Mapping[str, Sequence[str]]) -> LikeWords | None:
        """The fields, of those given with the word as each may have it, that have words like it;
        None where that would be too much work."""
        every = [token for forms in tokens.values() for token in forms]
        typos = typos_of(min(every, key=len, default=""))
        if not typos:
            return _NONE
        if not self._may_look(len(every)):
            return None
        return LikeWords(
            typos,
            frozenset(
                field
                for field, forms in tokens.items()
                if any(self._is_anywhere(field, token, typos) for token in forms)
            ),
        )

    def _may_look(self, lookups: int) -> bool:
        if self._words and (self._words >= MAX_WORDS or self._lookups + lookups > MAX_LOOKUPS):
            return False
        self._words += 1
        self._lookups += lookups
        return True

    def _is_anywhere(self, field: str, token: str, typos: int) -> bool:
        query = fuzzy_query(field, token, typos)
        return bool(self._collection.searcher.search(query, 1, count=False).hits)


def typos_of(word: str) -> int:
    """How many letters of a word may be wrong."""
    if not _SHORTEST <= len(word) <= _LONGEST:
        return 0
    return 2 if len(word) >= _LONG else 1


def fuzzy_query(field: str, token: str, typos: int) -> tantivy.Query:
    """Pages with a word that so few letters make of this one."""
    return tantivy.Query.fuzzy_term_query(schema(), field, token, distance=typos)
