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
        anchors: dict[tuple[str, str], str] = {}
        for url, anchor in page.inlinks:
            if text := " ".join(anchor.split()):
                host = "" if self._deduplicate else host_of(url) or ""
                anchors.setdefault((host, text.lower()), text)
        if anchors:
            document.fields["anchor"] = list(anchors.values())
        return document
