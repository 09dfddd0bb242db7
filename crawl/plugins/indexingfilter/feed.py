"""indexingfilter feed: what a feed says of an entry: author, tags, published, updated, feed."""

from __future__ import annotations

from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument

_FIELDS = {
    "author": "author",
    "tag": "tag",
    "tags": "tag",
    "published": "publishedDate",
    "updated": "updatedDate",
    "feed": "feed",
}


class FeedIndexingFilter(IndexingFilter):
    """Of documents inside a feed, whose parse bears `feed` in its metadata."""

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        metadata = page.parse.metadata
        if "feed" not in metadata:
            return document
        for key, name in _FIELDS.items():
            value = metadata.get(key, "")
            parts = value.splitlines() if name == "tag" else [value]
            for part in filter(None, map(str.strip, parts)):
                document.add(name, part)
        return document
