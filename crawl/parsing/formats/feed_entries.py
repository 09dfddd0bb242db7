"""The links of an RSS or Atom feed that stands in for a sitemap, with their dates. The parser
`feed` reads far more of a feed; a sitemap needs no more than sitemaps.org asks for."""

from __future__ import annotations

from collections.abc import Mapping

from crawl.parsing.formats.safe_xml import read_xml
from crawl.parsing.formats.sitemaps import Sitemap, SitemapEntry, SitemapKind
from crawl.parsing.text.links import MAX_URL
from crawl.parsing.text.plain import one_line
from crawl.parsing.text.xml_root import local_name
from crawl.urls.parse import resolve

_ENTRIES = frozenset({"item", "entry"})
_DATES = {"updated": 3, "modified": 3, "pubdate": 2, "date": 2, "published": 1, "issued": 1}
"""Elements with a date; the last change counts more than the first publication."""
_LONGEST_DATE = 100
_UNDEFINED = "\ufffd"
"""What stands for a reference that nobody defines: no link has one."""


def read_feed(url: str, text: str, most: int) -> Sitemap:
    """The entries of a text that is a feed; BadXml where its XML cannot be read."""
    handler = _FeedHandler(url, most)
    read_xml(text, handler, undefined=_UNDEFINED)
    over = handler.over_limit
    return Sitemap(SitemapKind.URLSET, tuple(handler.entries), handler.bad, over > 0, over)


class _FeedHandler:
    """Collects entries from XML events."""

    def __init__(self, url: str, most: int) -> None:
        self.entries: list[SitemapEntry] = []
        self.bad = 0
        self.over_limit = 0
        self._url = url
        self._most = most
        self._depth = 0
        self._entry_depth = 0
        """Of the entry that is open; 0 where none is."""
        self._text: list[str] = []
        self._length = 0
        self._link = ""
        self._date = ""
        self._date_rank = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        tag = local_name(name)
        if not self._entry_depth and tag in _ENTRIES:
            self._entry_depth = self._depth
            self._link, self._date, self._date_rank = "", "", 0
        elif (
            tag == "link"
            and self._is_child
            and not self._link
            and attributes.get("rel", "alternate") == "alternate"
        ):
            self._link = attributes.get("href", "")
        self._text, self._length = [], 0

    def data(self, text: str) -> None:
        if self._is_child and self._length <= MAX_URL:
            self._length += len(text)
            self._text.append(text)

    def end(self, name: str) -> None:
        tag, text = local_name(name), "".join(self._text).strip()
        self._text, self._length = [], 0
        if self._is_child and text:
            rank = _DATES.get(tag, 0)
            if tag == "link" and not self._link:
                self._link = text
            elif rank > self._date_rank:
                self._date, self._date_rank = one_line(text, _LONGEST_DATE), rank
        if self._depth == self._entry_depth:
            self._finish()
        self._depth -= 1

    @property
    def _is_child(self) -> bool:
        return self._entry_depth > 0 and self._depth == self._entry_depth + 1

    def _finish(self) -> None:
        self._entry_depth = 0
        if len(self.entries) >= self._most:
            self.over_limit += 1
            return
        link = self._link.strip()
        is_link = 0 < len(link) <= MAX_URL and _UNDEFINED not in link
        url = resolve(self._url, link) if is_link else None
        if url is None:
            self.bad += 1
        else:
            self.entries.append(SitemapEntry(url, lastmod=self._date))
