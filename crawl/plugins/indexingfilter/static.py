"""indexingfilter static: the same fields for every document."""

from __future__ import annotations

from crawl.config import Config, string_list
from crawl.errors import ConfigError
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument

FIELDS = string_list(
    "index.static", (), "Fields of every document: name:value; a name given twice has two values."
)


class StaticIndexingFilter(IndexingFilter):
    """What `index.static` says."""

    properties = (FIELDS,)

    def __init__(self, config: Config) -> None:
        self._fields: list[tuple[str, str]] = []
        for pair in config[FIELDS]:
            name, sign, value = pair.partition(":")
            if not name or not sign:
                raise ConfigError(f"{FIELDS.name}: {pair!r}: expected name:value")
            self._fields.append((name, value))

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        for name, value in self._fields:
            document.add(name, value)
        return document
