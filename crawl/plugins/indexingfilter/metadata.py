"""indexingfilter metadata: chosen entries of the parse's, the response's and the CrawlDb's
metadata as fields."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.config import Config, string_list, text
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument

PARSE_MD = string_list(
    "index.parse.md",
    ("metatag.description", "metatag.keywords"),
    "Metadata of the parse that become fields; * for all.",
)
CONTENT_MD = string_list(
    "index.content.md", (), "Headers of the response that become fields; * for all."
)
DB_MD = string_list("index.db.md", (), "Metadata of the CrawlDb that become fields; * for all.")
SEPARATOR = text(
    "index.metadata.separator", "", "Parts values that become several; empty: none is parted."
)
MULTIVALUED = string_list(
    "index.metadata.multivalued.fields", (), "Metadata whose values are parted."
)


class MetadataIndexingFilter(IndexingFilter):
    """Fields bear the names of the entries, lower-case."""

    needs_headers = True
    properties = (PARSE_MD, CONTENT_MD, DB_MD, SEPARATOR, MULTIVALUED)

    def __init__(self, config: Config) -> None:
        self._parse = _names(config[PARSE_MD])
        self._content = _names(config[CONTENT_MD])
        self._db = _names(config[DB_MD])
        self._separator = config[SEPARATOR]
        self._multivalued = _names(config[MULTIVALUED])

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        for names, values in (
            (self._parse, page.parse.metadata),
            (self._content, page.headers),
            (self._db, page.datum.metadata),
        ):
            for key, value in values.items() if names else ():
                name = key.lower()
                if not value or (name not in names and "*" not in names):
                    continue
                if self._separator and (name in self._multivalued or not self._multivalued):
                    parts = map(str.strip, value.split(self._separator))
                    document.add(name, list(filter(None, parts)))
                else:
                    document.add(name, value)
        return document


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
