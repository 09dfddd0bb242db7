"""Sitemaps (sitemaps.org 0.9) with the extensions that name further pages: images, videos,
news and translations. Pure: text in, entries out; bounded by the number of entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from crawl.model.parse import Outlink
from crawl.parsing.formats.safe_xml import BadXml, read_xml
from crawl.parsing.text.links import MAX_URL, link_of
from crawl.parsing.text.plain import one_line
from crawl.parsing.text.xml_root import local_name, root_name, root_start
from crawl.urls.parse import resolve

_MAX_EXTRAS = 1000
"""Images and translations of one page."""
_LONGEST_FACT = 100
_ENTRIES = frozenset(("url", "sitemap"))
_PARENTS = _ENTRIES | {"loc"}
"""What the facts of an entry stand in; in `loc` where that has no end."""
_LINE_END = re.compile(r"[\r\n]+")
_UNDEFINED = "\ufffd"
"""What stands for a reference that nobody defines, as for bytes that are no text."""
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
    """Entries, images and the like without a link that could be one."""
    cut: bool = False
    """There was more than could be read, or its end is missing."""
    over_limit: int = 0
    """Entries, images, videos and translations that were met and left out, being too many."""


def read_sitemap(url: str, text: str, most: int) -> Sitemap | None:
    """The sitemap, or None where the text is none; BadXml where its XML cannot be read."""
    root = root_name(text)
    if root not in (SitemapKind.URLSET, SitemapKind.INDEX):
        return None if root else _read_lines(text, most)
    reader = _SitemapHandler(url, most)
    is_cut = _is_cut(text, root)
    try:
        read_xml(_without_broken_end(text) if is_cut else text, reader, undefined=_UNDEFINED)
    except BadXml:
        if not reader.entries:
            raise
        is_cut = True
    reader.close()
    cut = is_cut or reader.over_limit > 0
    return Sitemap(SitemapKind(root), tuple(reader.entries), reader.bad, cut, reader.over_limit)


def _read_lines(text: str, most: int) -> Sitemap | None:
    """One link a line and nothing else."""
    lines = [stripped for line in _LINE_END.split(text) if (stripped := line.strip())]
    if not lines or not all(link_of(line) for line in lines[:_TYPED_BY]):
        return None
    links = [link_of(line) for line in lines[:most]]
    entries = tuple(SitemapEntry(link) for link in links if link is not None)
    over = max(0, len(lines) - most)
    return Sitemap(SitemapKind.TEXT, entries, links.count(None), over > 0, over)


def _is_cut(text: str, root: str) -> bool:
    """Whether the end of the root element is missing."""
    last = text.rfind("</")
    if last >= 0:
        return local_name(text[last + 2 : last + 100].partition(">")[0].strip()) != root
    start = root_start(text)
    end = text.find(">", start)
    return end < 0 or text[end - 1] != "/"


def _without_broken_end(text: str) -> str:
    """The text without what may be half of something: a tag that is not closed, or else the
    characters behind the last tag or line."""
    end = max(text.rfind(">"), text.rfind("\n")) + 1
    tag = text.find("<", end)
    return text[:tag] if tag >= 0 else text[:end]


class _SitemapHandler:
    """Collects entries from XML events, as people write them: with several links in an entry,
    with a link inside other elements, with none but the bare text of it, without an end."""

    def __init__(self, url: str, most: int) -> None:
        self.entries: list[SitemapEntry] = []
        self.bad = 0
        self.over_limit = 0
        self._url = url
        self._most = most
        self._path: list[str] = []
        self._text: list[str] = []
        self._length = 0
        self._loc_depth = 0
        """Where the element `loc` stands whose text is being read; 0 outside of one."""
        self._is_open = False
        """Whether an entry has begun that is not in `entries` yet."""
        self._has_loc = False
        self._target = ""
        self._facts: dict[str, str] = {}
        self._extras: list[Outlink] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = local_name(name)
        path = self._path
        if self._loc_depth and not self._end_loc(len(path)):  # <loc><url>…: the text is the link's
            path.append(tag)
            return
        if self._text:
            self._bare_links()
        depth = len(path)
        if tag == "loc":
            if depth <= 2 or path[-1] in _PARENTS:
                self._loc_depth = depth + 1
        elif depth == 1 or (tag in _ENTRIES and depth and path[-1] in _PARENTS):
            self._finish()  # where the one before has no end
            self._is_open = True
        elif tag == "link":
            self._extra(attributes.get("href", ""), "alternate", "link")
        path.append(tag)

    def data(self, text: str) -> None:
        if not self._text and text.isspace():
            return  # as between most tags
        # an index may be bare lines without end; of anything else no more than a link is read
        if self._length <= MAX_URL or (len(self._path) <= 2 and not self._loc_depth):
            self._length += len(text)
            self._text.append(text)

    def end(self, name: str) -> None:
        path = self._path
        if not path:
            return
        tag = path.pop()
        depth = len(path)
        if self._loc_depth:
            if not self._end_loc(depth + 1) and depth < self._loc_depth:
                self._loc_depth = 0
                self._add_loc("")
            return
        if tag in _ENTRIES or not depth:
            if self._text:
                self._bare_links()
            if depth == 1:
                self._finish()
            return
        text = self._take_text()
        if depth == 1:
            self._finish()
        elif depth == 2 or path[-1] in _PARENTS:
            self._facts.setdefault(tag, text)
        elif tag in ("loc", "content_loc", "player_loc", "thumbnail_loc"):
            self._extra(text, "", path[-1])
        elif tag == "title":
            self._facts.setdefault(f"{path[-1]}.title", text)

    def close(self) -> None:
        """Ends what the text has left open."""
        while self._path:
            self.end(self._path[-1])
        self._finish()

    def _end_loc(self, depth: int) -> bool:
        """Takes the link that is being read in an element of that depth, if any of it is there:
        what comes behind the next tag is no part of it, also where its own end is missing. The
        text of another element must be a link by itself."""
        text = self._take_text()
        if text and depth > self._loc_depth and not link_of(text):
            text = ""
        if text:
            self._loc_depth = 0
            self._add_loc(text)
        return bool(text)

    def _take_text(self) -> str:
        if not self._text:
            return ""
        text = "".join(self._text).strip()
        self._text, self._length = [], 0
        return text

    def _bare_links(self) -> None:
        """Links that stand in an entry, or in none, without an element of their own."""
        text = self._take_text()
        if text and (len(self._path) <= 1 or self._path[-1] in _ENTRIES):
            for line in _LINE_END.split(text):
                if link_of(line.strip()):
                    self._add_loc(line.strip())

    def _add_loc(self, target: str) -> None:
        """A link of the entry; one that has another already ends with that one."""
        if self._has_loc:
            self._finish()
        self._is_open = self._has_loc = True
        self._target = target

    def _extra(self, target: str, rel: str, tag: str) -> None:
        if len(self._extras) >= _MAX_EXTRAS or len(self.entries) >= self._most:
            self.over_limit += 1
        elif url := self._link(target):
            self._extras.append(Outlink(url, "", rel, tag))
        else:
            self.bad += 1

    def _finish(self) -> None:
        if not self._is_open:
            return
        facts, extras, target = self._facts, self._extras, self._target
        self._is_open, self._has_loc, self._target = False, False, ""
        self._facts, self._extras = {}, []
        if len(self.entries) >= self._most:
            self.over_limit += 1
            return
        url = self._link(target)
        if url is None:
            self.bad += 1
            return
        values = {
            key: one_line(facts[key], _LONGEST_FACT)
            for key in ("lastmod", "changefreq", "priority")
            if key in facts
        }
        title = one_line(facts.get("news.title") or facts.get("video.title") or "")
        self.entries.append(SitemapEntry(url, **values, title=title, extras=tuple(extras)))

    def _link(self, target: str) -> str | None:
        """Absolute as it should be, or at least after resolving it. What holds a reference that
        nobody defines, or bytes that are no text, is no link."""
        target = target.strip()
        if not 0 < len(target) <= MAX_URL or _UNDEFINED in target:
            return None
        return resolve(self._url, target)
