"""indexingfilter structured: OpenGraph, Twitter cards, JSON-LD and microdata, as far as the parse
kept them in its metadata (`og:title`, `metatag.og:title`, `jsonld.headline`, `microdata.name`)."""

from __future__ import annotations

from typing import Any, ClassVar

from crawl.config import Config, Property, string_list
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument

PREFIXES: Property[tuple[str, ...]] = string_list(
    "index.structured.prefixes",
    ("og:", "article:", "twitter:", "jsonld.", "microdata.", "dc."),
    "Metadata of the parse whose names begin so become fields.",
)

_MOST = 100
_LONGEST = 2_000
_METATAG = "metatag."


class StructuredIndexingFilter(IndexingFilter):
    """Fields are called as the metadata is, with `_` for what no index takes in a name."""

    properties: ClassVar[tuple[Property[Any], ...]] = (PREFIXES,)

    def __init__(self, config: Config) -> None:
        self._prefixes = tuple(prefix.lower() for prefix in config[PREFIXES])

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        left = _MOST
        for key, value in page.parse.metadata.items():
            name = key.lower().removeprefix(_METATAG)
            if left and value and name.startswith(self._prefixes):
                field = "".join(each if each.isalnum() else "_" for each in name)
                document.add(field, value[:_LONGEST])
                left -= 1
        return document
