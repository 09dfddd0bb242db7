"""indexingfilter: what of a page becomes which field of its document in an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from crawl.config import Config
from crawl.model.datum import CrawlDatum
from crawl.model.documents import IndexDocument, Inlink
from crawl.model.parse import Parse


@dataclass(frozen=True, slots=True)
class IndexablePage:
    """All that is known of a page that is to be indexed."""

    url: str
    host: str
    parse: Parse
    datum: CrawlDatum
    """Its record in the CrawlDb; that of the fetch where no CrawlDb is asked."""
    fetch_time: int
    """When it was fetched, in milliseconds since 1970."""
    segment: str = ""
    mime_type: str = ""
    charset: str = ""
    signature: bytes | None = None
    inlinks: Sequence[Inlink] = ()
    """Links to it, by the LinkDb; none where there is no LinkDb."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the response, by lower-case name; empty unless a filter `needs_headers`."""


class IndexingFilter(Protocol):
    """One group of fields. Indexing filters form a chain in `indexingfilter.order`, each given
    what the ones before it made of the document."""

    needs_headers: ClassVar[bool] = False
    """Whether it looks at `page.headers`, which cost reading them."""
    needs_outlinks: ClassVar[bool] = False
    """Whether it looks at `page.parse.outlinks`, which are not read for others."""

    def __init__(self, config: Config) -> None:
        """Reads its properties; raises ConfigError where they cannot be meant."""

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument | None:
        """The document with what this filter has to add, most often the one that it was given;
        None where the page is not to be indexed.

        A filter that raises is counted and passed over.
        """
        ...
