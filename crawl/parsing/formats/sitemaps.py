"""Sitemaps (sitemaps.org 0.9) with the extensions that name further pages: images, videos,
news and translations. Pure: text in, entries out; bounded by the number of entries."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from crawl.model.parse import Outlink
from crawl.parsing.formats.safe_xml import read_xml
from crawl.parsing.text.links import MAX_URL, link_of
from crawl.parsing.text.plain import one_line
from crawl.parsing.text.xml_root import local_name, root_name
from crawl.urls.parse import resolve

_MOST_EXTRAS = 1000
"""Images and translations of one page."""
_LONGEST_FACT = 100
_TYPED_BY = 20
"""Lines that must be links for a text to be a sitemap."""


class SitemapKind(StrEnum):
    """What a sitemap lists."""

    URLSET = "urlset"
    INDEX = "sitemapindex"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """A page, or in an index another sitemap; the facts as they were written."""

    url: str
    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""
    title: str = ""
    """Of news."""
    extras: tuple[Outlink, ...] = ()
    """Its images, videos and translations."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    kind: SitemapKind
    entries: tuple[SitemapEntry, ...]
    bad: int = 0
    """Entries without a link that could be one."""
    cut: bool = False
    """There was more than could be read."""


def read_sitemap(url: str, text: str, most: int) -> Sitemap | None:
    """The sitemap, or None where the text is none; BadXml where its XML cannot be read."""
    root = root_name(text)
    if root in (SitemapKind.URLSET, SitemapKind.INDEX):
        reader = _SitemapHandler(url, most)
        with suppress(_TooManyEntries):
            read_xml(text, reader)
        return Sitemap(SitemapKind(root), tuple(reader.entries), reader.bad, reader.cut)
    return None if root else _read_lines(text, most)


def _read_lines(text: str, most: int) -> Sitemap | None:
    """One link a line and nothing else."""
    lines = [stripped for line in text.split("\n") if (stripped := line.strip())]
    if not lines or not all(link_of(line) for line in lines[:_TYPED_BY]):
        return None
    found = [link_of(line) for line in lines[:most]]
    entries = tuple(SitemapEntry(link) for link in found if link is not None)
    return Sitemap(SitemapKind.TEXT, entries, found.count(None), len(lines) > most)


class _TooManyEntries(Exception):
    """The sitemap has more entries than may be read."""


class _SitemapHandler:
    """Collects entries from XML events."""

    def __init__(self, url: str, most: int) -> None:
        self.entries: list[SitemapEntry] = []
        self.bad = 0
        self.cut = False
        self._url = url
        self._most = most
        self._path: list[str] = []
        self._text: list[str] = []
        self._length = 0
        self._facts: dict[str, str] = {}
        self._extras: list[Outlink] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = local_name(name)
        if len(self._path) == 1:
            if len(self.entries) >= self._most:
                self.cut = True
                raise _TooManyEntries
            self._facts, self._extras = {}, []
        elif tag == "link":
            self._extra(attributes.get("href", ""), "alternate", "link")
        self._path.append(tag)
        self._text, self._length = [], 0

    def data(self, text: str) -> None:
        if len(self._path) > 2 and self._length <= MAX_URL:
            self._length += len(text)
            self._text.append(text)

    def end(self, name: str) -> None:
        tag = self._path.pop() if self._path else ""
        text = "".join(self._text).strip()
        self._text, self._length = [], 0
        depth = len(self._path)
        if depth == 2:
            self._facts.setdefault(tag, text)
        elif depth == 3:
            kind = self._path[2]
            if tag in ("loc", "content_loc", "player_loc", "thumbnail_loc"):
                self._extra(text, "", kind)
            elif tag == "title":
                self._facts.setdefault(f"{kind}.title", text)
        elif depth == 1:
            self._finish()

    def _extra(self, target: str, rel: str, tag: str) -> None:
        url = self._link(target)
        if url is not None and len(self._extras) < _MOST_EXTRAS:
            self._extras.append(Outlink(url, "", rel, tag))

    def _finish(self) -> None:
        url = self._link(self._facts.get("loc", ""))
        if url is None:
            self.bad += 1
            return
        facts = {
            key: one_line(self._facts[key], _LONGEST_FACT)
            for key in ("lastmod", "changefreq", "priority")
            if key in self._facts
        }
        title = one_line(self._facts.get("news.title") or self._facts.get("video.title") or "")
        self.entries.append(SitemapEntry(url, **facts, title=title, extras=tuple(self._extras)))

    def _link(self, target: str) -> str | None:
        """Absolute as it should be, or at least after resolving it."""
        target = target.strip()
        return resolve(self._url, target) if 0 < len(target) <= MAX_URL else None
