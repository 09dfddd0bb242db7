"""indexingfilter structured: OpenGraph, Twitter cards, JSON-LD and microdata, as the parse kept
them: `og:title` and `metatag.og:title` become og_title, and what the objects of JSON-LD and the
items of microdata say by themselves becomes jsonld_headline and microdata_name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crawl.config import Config, string_list
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.parsing.structured import json_ld_items, microdata_items

PREFIXES = string_list(
    "index.structured.prefixes",
    ("og:", "article:", "twitter:", "jsonld.", "microdata.", "dc."),
    "Metadata of the parse whose names begin so become fields.",
)

_MAX = 100
_LONGEST = 2_000
_METATAG = "metatag."


class StructuredIndexingFilter(IndexingFilter):
    """Fields are called as the metadata is, with `_` for what no index takes in a name."""

    properties = (PREFIXES,)

    def __init__(self, config: Config) -> None:
        self._prefixes = tuple(prefix.lower() for prefix in config[PREFIXES])

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        room = _MAX
        for name, value in _structured(page.parse.metadata):
            if room and value and name.startswith(self._prefixes):
                field = "".join(each if each.isalnum() else "_" for each in name)
                document.add(field, value[:_LONGEST])
                room -= 1
        return document


def _structured(metadata: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and values: those of the metadata themselves, and those inside JSON."""
    for key, value in metadata.items():
        yield key.lower().removeprefix(_METATAG), value
    for thing in json_ld_items(metadata):
        yield from _scalars("jsonld.", thing)
    for item in microdata_items(metadata):
        properties = item.get("properties")
        yield from _scalars("microdata.", properties if isinstance(properties, dict) else {})


def _scalars(prefix: str, thing: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in thing.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str | int | float) and not isinstance(each, bool):
                yield prefix + name.lower().lstrip("@"), str(each)
