"""indexingfilter canonical: the URL by which a page wants to be known."""

from __future__ import annotations

from crawl.config import Config, boolean
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.urls.parse import host_of

DROP = boolean(
    "index.canonical.drop",
    False,
    "Pages that name another URL of their host as their canonical one are not indexed.",
)


class CanonicalIndexingFilter(IndexingFilter):
    """Field canonical where it is another URL than the page's. A page of one host cannot have
    another host's page take its place."""

    properties = (DROP,)

    def __init__(self, config: Config) -> None:
        self._drops = config[DROP]

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument | None:
        canonical = page.parse.canonical
        if not canonical or canonical == page.url:
            return document
        if self._drops and host_of(canonical) == page.host:
            return None
        document.fields["canonical"] = canonical
        return document
