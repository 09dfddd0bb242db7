"""indexingfilter basic: url, host, domain, title, content (the main text), tstamp."""

from __future__ import annotations

from datetime import UTC, datetime

from crawl.config import Config, boolean, integer
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.maincontent.rest_text import rest_of
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
MAIN_TEXT = boolean(
    "indexer.main.text",
    True,
    "The field content is a page's main text, without menus and footers, where the parse has kept"
    " it (parser.main.content); the embedded index weighs the rest less. false: all of its text.",
)
ADD_DOMAIN = boolean("indexer.add.domain", False, "Documents have a field domain.")


def iso_time(moment_ms: int) -> str:
    """A moment as index servers read it."""
    try:
        moment = datetime.fromtimestamp(moment_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{moment_ms % 1000:03d}Z"


class BasicIndexingFilter(IndexingFilter):
    """What every document has."""

    properties = (MAX_TITLE, MAX_CONTENT, MAIN_TEXT, ADD_DOMAIN)

    def __init__(self, config: Config) -> None:
        self._title = end_of(config[MAX_TITLE])
        self._content = end_of(config[MAX_CONTENT])
        self._main_text = config[MAIN_TEXT]
        self._domain = config[ADD_DOMAIN]

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        fields = document.fields
        fields["url"] = page.url
        if page.host:
            fields["host"] = page.host
            if self._domain:
                fields["domain"] = registered_domain(page.host)
        fields["title"] = page.parse.title[: self._title]
        main = page.parse.main_text if self._main_text else None
        fields["content"] = (main or page.parse.text)[: self._content]
        if main:
            document.rest = rest_of(page.parse.text, main)[: self._content]
        if forbidden := page.parse.metadata.get("caching.forbidden"):
            fields["cache"] = forbidden
        fields["tstamp"] = iso_time(page.fetch_time)
        return document


def end_of(most: int) -> int | None:
    """Where what is indexed ends; None: nowhere."""
    return None if most < 0 else most
