"""indexingfilter language: lang, as the parse has it."""

from __future__ import annotations

from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument


class LanguageIndexingFilter(IndexingFilter):
    """Field lang, `unknown` where no language was found, as in Nutch."""

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        document.fields["lang"] = page.parse.language or "unknown"
        return document
