"""The index's fields and how their text is cut into words.

tantivy, because it indexes thirty thousand documents a second on one core, answers in a
millisecond from memory-mapped files, and comes as one wheel without a server. Its version is
pinned: readers and writers of one index must agree on its files.
"""

from __future__ import annotations

from functools import cache

import tantivy

from crawl.search.languages import STEMMERS

FORMAT = 2
"""Of the fields below: an index of another format is made anew."""

URL = "url"
HOST = "host"
DOMAIN = "domain"
LANGUAGE = "lang"
TYPE = "type"
URL_WORDS = "urlwords"
EXTRA = "fields"
GROUP = "group"
"""The group of languages whose analyzer cut the page's words: which ones there are is read here."""
DATED = "dated"
"""When the page changed, or was fetched where that is not known: milliseconds since 1970."""
SCORE = "score"
HOST_NUMBER = "hostnumber"
TEXT_NUMBER = "textnumber"
"""A number of the text: pages with the same one say the same."""
SKETCH = "sketch"
"""A number of which nearly equal texts have most parts in common (near_texts.py)."""
RECORD = "record"

TEXT_KINDS = ("title", "anchor", "content", "rest")
"""The parts of a page that have a field of words: one for all languages. So how many pages have a
word, and how long a page is among the others, is counted over the whole collection, and scores of
pages in different languages can be compared. A field a language cannot give that: tantivy's
average length of a field counts pages without it as empty ones, and no factor mends what that does
to a page, for it depends on how often the word is there.
"""

_PLAIN = "plain"
_CUT = "cut"
_LONGEST_WORD = 80
"""Bytes of a word; longer ones are no words, but encoded data."""
_MAX_KEPT, _LONGEST_KEPT = 100_000, 40
"""Pieces of a text whose words are remembered for each group, and characters of one."""


@cache
def schema() -> tantivy.Schema:
    """The fields. What results show is in RECORD alone; the others are for search."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(URL, tokenizer_name="raw", index_option="basic")
    for name in (HOST, DOMAIN, LANGUAGE, TYPE):
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(URL_WORDS, tokenizer_name=_PLAIN)
    for kind in TEXT_KINDS:
        builder.add_text_field(kind, tokenizer_name=_CUT)
    builder.add_text_field(GROUP, tokenizer_name="raw", index_option="basic")
    builder.add_json_field(EXTRA, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(DATED, fast=True)
    builder.add_float_field(SCORE, fast=True)
    for name in (HOST_NUMBER, TEXT_NUMBER, SKETCH):
        builder.add_unsigned_field(name, fast=True)
    builder.add_bytes_field(RECORD, stored=True)
    return builder.build()


@cache
def analyzer(group: str) -> tantivy.TextAnalyzer:
    """How the words of a group's languages are cut: lower case, without accents, stemmed.

    Accents go before the stem is taken: whoever types none then gets the same stem.
    """
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(_LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
    )
    if group in STEMMERS:
        builder = builder.filter(tantivy.Filter.stemmer(STEMMERS[group]))
    return builder.build()


def cut_text(text: str, group: str) -> str:
    """The words of a text as the index has them, with blanks between: tantivy's own analyzers go
    with a field, and here one field has the words of all languages. What stands between blanks is
    cut once and remembered, for most of it is met again."""
    return " ".join(filter(None, map(_pieces(group).__getitem__, text.split())))


class _Pieces(dict[str, str]):
    """What stands between two blanks of a text → its words."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self._analyzer = analyzer(group)

    def __missing__(self, piece: str) -> str:
        words = " ".join(self._analyzer.analyze(piece))
        if len(piece) <= _LONGEST_KEPT:
            if len(self) >= _MAX_KEPT:
                self.clear()
            self[piece] = words
        return words


@cache
def _pieces(group: str) -> _Pieces:
    return _Pieces(group)


def register_analyzers(index: tantivy.Index) -> None:
    """Tells an opened index how its fields are cut; tantivy keeps their names alone."""
    index.register_tokenizer(_PLAIN, analyzer(_PLAIN))
    blanks = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(_CUT, blanks)
