"""indexingfilter links: the URLs that a page links to, and those that link to it."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.config import Config, boolean
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.urls.parse import host_of

OUT_HOSTS_IGNORED = boolean(
    "index.links.outlinks.host.ignore", False, "Links within the host are no outlinks."
)
IN_HOSTS_IGNORED = boolean(
    "index.links.inlinks.host.ignore", False, "Links within the host are no inlinks."
)
HOSTS_ONLY = boolean("index.links.hosts.only", False, "The links' hosts instead of their URLs.")


class LinksIndexingFilter(IndexingFilter):
    """Fields outlinks and inlinks."""

    needs_outlinks = True
    properties = (OUT_HOSTS_IGNORED, IN_HOSTS_IGNORED, HOSTS_ONLY)

    def __init__(self, config: Config) -> None:
        self._ignores_out = config[OUT_HOSTS_IGNORED]
        self._ignores_in = config[IN_HOSTS_IGNORED]
        self._hosts_only = config[HOSTS_ONLY]

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        outlinks = (link.url for link in page.parse.outlinks if link.is_followable)
        inlinks = (link.url for link in page.inlinks)
        for name, urls, ignores in (
            ("outlinks", outlinks, self._ignores_out),
            ("inlinks", inlinks, self._ignores_in),
        ):
            if links := self._listed(urls, page.host if ignores else ""):
                document.fields[name] = links
        return document

    def _listed(self, urls: Iterable[str], ignored: str) -> list[str]:
        links: dict[str, None] = {}
        for url in urls:
            host = host_of(url) if ignored or self._hosts_only else None
            if ignored and host == ignored:
                continue
            links[(host or "") if self._hosts_only else url] = None
        return [each for each in links if each]
