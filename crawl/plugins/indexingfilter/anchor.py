"""indexingfilter anchor: the texts of the links to a page, each once for every host."""

from __future__ import annotations

from crawl.config import Config, boolean
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.urls.parse import host_of

DEDUPLICATE = boolean(
    "anchorIndexingFilter.deduplicate", False, "Each anchor once, whatever the hosts it is from."
)


class AnchorIndexingFilter(IndexingFilter):
    """Field anchor, a list."""

    properties = (DEDUPLICATE,)

    def __init__(self, config: Config) -> None:
        self._deduplicate = config[DEDUPLICATE]

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        met: set[tuple[str, str]] = set()
        anchors: list[str] = []
        for url, anchor in page.inlinks:
            text = " ".join(anchor.split())
            key = ("" if self._deduplicate else host_of(url) or "", text.lower())
            if text and key not in met:
                met.add(key)
                anchors.append(text)
        if anchors:
            document.fields["anchor"] = anchors
        return document
