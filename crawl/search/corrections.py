"""Which word was meant by a misspelt one: "did you mean".

Of the words that are like it, the nearest, and of those the one that most pages have. The index has
stems alone, and a reader wants a word: it is taken from the text of a few pages that have one. Also
a word that a page or two has may be a slip, of whoever wrote them: where a word like it is on many
more pages, that is offered too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crawl.search import typos
from crawl.search.collection import Collection
from crawl.search.query_plan import Form, Word, cut_word
from crawl.search.query_text import searched_words
from crawl.search.record import stored_record
from crawl.search.snippets import folded_text, is_near, words_of

FEW_PAGES = 3
"""That have a word, or answer a query, for it to be doubted."""
_MUCH_COMMONER = 10
"""Times as many pages, and pages at least, have a word that is offered for one that is there."""
_MIN_DOUBTED = 5
"""Letters of a word that is there and doubted."""
_SAMPLE = 10
"""Pages of which the words are looked at, for each number of typos and field."""
_FIELDS = ("title", "content")


class Corrections:
    """The corrections of one query's words."""

    def __init__(self, collection: Collection, groups: Sequence[str]) -> None:
        self._collection = collection
        self._groups = groups
        self._words = 0

    def corrected_query(self, query: str, words: Sequence[Word], pages: int) -> str:
        """The query, of which so many pages have all words, with the words that were meant; empty
        where none is misspelt."""
        corrected = query
        for word in words:
            meant = self._meant(word, pages)
            if meant:
                corrected = _replaced(corrected, word.text, meant)
        return "" if corrected == query else corrected

    def _meant(self, word: Word, pages: int) -> str:
        is_doubted = (
            0 < word.pages <= FEW_PAGES and pages <= FEW_PAGES and len(word.text) >= _MIN_DOUBTED
        )
        if word.is_excluded or word.is_prefix or not (word.typos or is_doubted):
            return ""
        if not word.text.isalnum() or self._words >= typos.MAX_WORDS:
            return ""
        self._words += 1
        least = 1 if word.typos else max(_MUCH_COMMONER, _MUCH_COMMONER * word.pages)
        most_typos = word.typos or typos.typos_of(word.text)
        for distance in range(1, most_typos + 1):
            like = {each: self._pages_with(each) for each in self._words_like(word.text, distance)}
            common = [each for each, count in like.items() if count >= least]
            if common:
                return min(common, key=lambda each: (-like[each], each))
        return ""

    def _forms(self, text: str) -> set[Form]:
        """A word as each of the groups of languages has it."""
        return {form for group in self._groups if len(form := cut_word(text, group)) == 1}

    def _pages_with(self, text: str) -> int:
        counted, forms = self._collection.pages_with, self._forms(text)
        return max(sum(counted(field, form[0]) for form in forms) for field in _FIELDS)

    def _words_like(self, text: str, distance: int) -> Iterator[str]:
        """Words of a few pages that so many letters make of this one."""
        asked = folded_text(text)
        letters = set(asked)
        earlier = {asked}
        for passage in self._passages(text, distance):
            folded = folded_text(passage)
            for match in words_of(folded):
                word = match[0]
                if word in earlier or abs(len(word) - len(asked)) > distance:
                    continue
                earlier.add(word)
                if len(letters.symmetric_difference(word)) <= 2 * distance and is_near(
                    word, asked, distance
                ):
                    yield passage[match.start() : match.end()].lower()

    def _passages(self, text: str, distance: int) -> Iterator[str]:
        searcher = self._collection.searcher
        for field in _FIELDS:
            for (token,) in sorted(self._forms(text)):
                query = typos.fuzzy_query(field, token, distance)
                for _, address in searcher.search(query, _SAMPLE, count=False).hits:
                    record = stored_record(searcher.doc(address))
                    yield record.title if field == "title" else record.text


def _replaced(query: str, word: str, meant: str) -> str:
    """The query with another word where it looks for this one first."""
    place = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    for begin, end in searched_words(query):
        match = place.search(query, begin, end)
        if match is not None:
            return query[: match.start()] + meant + query[match.end() :]
    return query
