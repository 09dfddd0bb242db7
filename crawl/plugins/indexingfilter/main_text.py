"""indexingfilter main-text: the text without boilerplate as content (parser.main.content).

`basic` does so by itself, unless indexer.main.text is false; this is for orders without it.
"""

from __future__ import annotations

from crawl.config import Config
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.plugins.indexingfilter.basic import MAX_CONTENT, end_of


class MainTextIndexingFilter(IndexingFilter):
    """Field content, in place of the whole text; pages without a main text keep theirs. It
    stands behind `basic` in indexingfilter.order."""

    properties = (MAX_CONTENT,)

    def __init__(self, config: Config) -> None:
        self._end = end_of(config[MAX_CONTENT])

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        if page.parse.main_text:
            document.fields["content"] = page.parse.main_text[: self._end]
        return document
