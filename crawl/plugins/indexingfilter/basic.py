"""indexingfilter basic: url, host, domain, title, content, tstamp."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from crawl.config import Config, Property, boolean, integer
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.urls.domains import registered_domain

MAX_TITLE = integer(
    "indexer.max.title.length",
    100,
    "Characters of a title that are indexed; -1: all.",
    unit="characters",
    minimum=-1,
)
MAX_CONTENT = integer(
    "indexer.max.content.length",
    -1,
    "Characters of a text that are indexed; -1: all.",
    unit="characters",
    minimum=-1,
)
ADD_DOMAIN = boolean("indexer.add.domain", False, "Documents have a field domain.")


def iso_time(moment_ms: int) -> str:
    """A moment as index servers read it."""
    try:
        found = datetime.fromtimestamp(moment_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        found = datetime.fromtimestamp(0, UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%S") + f".{moment_ms % 1000:03d}Z"


class BasicIndexingFilter(IndexingFilter):
    """What every document has."""

    properties: ClassVar[tuple[Property[Any], ...]] = (MAX_TITLE, MAX_CONTENT, ADD_DOMAIN)

    def __init__(self, config: Config) -> None:
        self._title = _end(config[MAX_TITLE])
        self._content = _end(config[MAX_CONTENT])
        self._domain = config[ADD_DOMAIN]

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        fields = document.fields
        fields["url"] = page.url
        if page.host:
            fields["host"] = page.host
            if self._domain:
                fields["domain"] = registered_domain(page.host)
        fields["title"] = page.parse.title[: self._title]
        fields["content"] = page.parse.text[: self._content]
        forbidden = page.parse.metadata.get("caching.forbidden")
        if forbidden:
            fields["cache"] = forbidden
        fields["tstamp"] = iso_time(page.fetch_time)
        return document


def _end(most: int) -> int | None:
    return None if most < 0 else most
