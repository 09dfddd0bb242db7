"""Document: one parsed page, or one document inside a page, before its links are chosen; and
the rows of a batch of pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from crawl.counters import Counters
from crawl.model.content import Content
from crawl.model.parse import Parse, ParseStatus

CACHING_FORBIDDEN_KEY = "caching.forbidden"


@dataclass(frozen=True, slots=True)
class Document:
    """A parse with what the pipeline found out about its page."""

    content: Content
    """For a document inside a page: its text under its own URL."""
    parse: Parse
    mime_type: str = ""
    charset: str = ""
    """Empty for what is not text."""
    signature: bytes | None = None
    is_inside: bool = False
    """Whether it was found inside another page, and not fetched."""
    link_count: int = 0
    """How many links it has, whatever became of them."""
    redirect: str = ""
    """Where a meta refresh leads to, if we may go there; in normal form."""


@dataclass(frozen=True, slots=True)
class PageFailure:
    """Why a page is not to be parsed again: how the process that tried has ended."""

    status: ParseStatus
    message: str


@dataclass(frozen=True, slots=True)
class ParsedBatch:
    """The rows of a batch of pages for each table of a parse, and counts."""

    parse_data: pa.Table
    parse_text: pa.Table
    crawl_parse: pa.Table
    counters: Counters


def content_inside(page: Content, parse: Parse) -> Content:
    """The content of a document inside a page, as if it had been fetched: its text."""
    return replace(page, url=parse.url, body=parse.text.encode("utf-8", "replace"))


def join_batches(batches: list[ParsedBatch]) -> ParsedBatch:
    """Joins several batches into one."""
    counters = Counters()
    for batch in batches:
        counters.update(batch.counters)
    tables = [(batch.parse_data, batch.parse_text, batch.crawl_parse) for batch in batches]
    data, text, crawl = map(pa.concat_tables, zip(*tables, strict=True))
    return ParsedBatch(data, text, crawl, counters)
