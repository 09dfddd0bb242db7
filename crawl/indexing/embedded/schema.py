"""The index's fields and how their text is cut into words.

tantivy, because it indexes thirty thousand documents a second on one core, answers in a
millisecond from memory-mapped files, and comes as one wheel without a server. Its version is
pinned: readers and writers of one index must agree on its files.
"""

from __future__ import annotations

from functools import cache

import tantivy

from crawl.indexing.embedded.languages import GROUPS, STEMMERS

FORMAT = 1
"""Of the fields below: an index of another format is made anew."""

URL = "url"
HOST = "host"
DOMAIN = "domain"
LANGUAGE = "lang"
TYPE = "type"
URL_WORDS = "urlwords"
EXTRA = "fields"
HAS = "has"
"""The names of the text fields that a page has: how many pages have one is read from here."""
DATED = "dated"
"""When the page changed, or was fetched where that is not known: milliseconds since 1970."""
SCORE = "score"
HOST_NUMBER = "hostnumber"
DIGEST_NUMBER = "digestnumber"
RECORD = "record"

TEXT_KINDS = ("title", "anchor", "content")
"""The parts of a page that have a field a language."""

_PLAIN = "plain"
_LONGEST_WORD = 80
"""Bytes of a word; longer ones are no words, but encoded data."""


def field_of(kind: str, group: str) -> str:
    """The field of one part of a page (`TEXT_KINDS`) in the languages of a group."""
    return f"{kind}_{group}"


@cache
def schema() -> tantivy.Schema:
    """The fields. What results show is in RECORD alone; the others are for search."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(URL, tokenizer_name="raw", index_option="basic")
    for name in (HOST, DOMAIN, LANGUAGE, TYPE):
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(URL_WORDS, tokenizer_name=_PLAIN)
    for group in GROUPS:
        for kind in TEXT_KINDS:
            builder.add_text_field(field_of(kind, group), tokenizer_name=f"words_{group}")
    builder.add_text_field(HAS, tokenizer_name="raw", index_option="basic")
    builder.add_json_field(EXTRA, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(DATED, fast=True)
    builder.add_float_field(SCORE, fast=True)
    builder.add_unsigned_field(HOST_NUMBER, fast=True)
    builder.add_unsigned_field(DIGEST_NUMBER, fast=True)
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


def register_analyzers(index: tantivy.Index) -> None:
    """Tells an opened index how its fields are cut; tantivy keeps their names alone."""
    index.register_tokenizer(_PLAIN, analyzer("plain"))
    for group in GROUPS:
        index.register_tokenizer(f"words_{group}", analyzer(group))
