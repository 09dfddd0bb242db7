"""A look over HTML without building a tree: meta tags, headings and bare text, for plugins
that want just those.

lxml's target parser, at a tenth of the price of a soup. It is linear but for end tags that
fit none of very many open ones, so the look ends where a page nests deeper than pages do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree

from crawl.parsing.text.plain import one_line, storable

HTML_TYPES = ("text/html", "application/xhtml+xml")
MAX_DEPTH = 1000
_MAX = 1000
"""Meta tags, and headings, of one page."""
_PIECE = 1 << 16
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_UNSEEN = frozenset({"script", "style", "template", "noscript", "head", "title"})
_LINES = _HEADINGS | {"p", "div", "br", "li", "tr", "table", "ul", "ol", "blockquote", "pre"}


@dataclass(frozen=True, slots=True)
class MarkupScan:
    """Meta tags, headings and text in the order of the page."""

    metas: tuple[tuple[str, str], ...] = ()
    """Name (or property, or http-equiv; lower-case) and content."""
    headings: tuple[tuple[str, str], ...] = ()
    """`h1` … `h6`, and the text inside."""
    pieces: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is neither script nor style, line by line."""
        lines = (" ".join(line.split()) for line in "".join(self.pieces).split("\n"))
        return storable("\n".join(line for line in lines if line))


@lru_cache(maxsize=1)  # the filters of a page ask one after the other
def scan_markup(markup: str) -> MarkupScan:
    """Scans markup, however broken it is."""
    target = _ScanTarget()
    parser = etree.HTMLParser(target=target, encoding="utf-8", no_network=True, huge_tree=False)
    data = storable(markup).encode("utf-8", "replace")
    try:
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
        parser.close()
    except (_TooDeep, etree.LxmlError, UnicodeError):
        pass  # what was seen until then is all there is
    target.finish()
    return MarkupScan(tuple(target.metas), tuple(target.headings), tuple(target.pieces))


class _TooDeep(Exception):
    """The markup nests deeper than pages do."""


class _ScanTarget:
    def __init__(self) -> None:
        self.metas: list[tuple[str, str]] = []
        self.headings: list[tuple[str, str]] = []
        self.pieces: list[str] = []
        self._depth = 0
        self._unseen = 0
        self._heading = ""
        self._inside: list[str] = []
        self._open_links: list[bool] = []
        self._is_behind_link = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep
        if tag == "meta":
            self._meta(attributes)
        elif tag in _UNSEEN:
            self._unseen += 1
        elif tag == "a":
            is_link = bool(attributes.get("href"))
            self._open_links.append(is_link)
            if is_link and self._is_behind_link:
                self.data(" ")
        elif tag in _LINES:
            self._line()
            if tag in _HEADINGS:
                self.finish()
                self._heading = tag

    def data(self, text: str) -> None:
        if self._unseen:
            return
        self.pieces.append(text)
        self._is_behind_link = False
        if self._heading:
            self._inside.append(text)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag in _UNSEEN:
            self._unseen -= 1
        elif tag == "a":
            self._is_behind_link = bool(self._open_links and self._open_links.pop())
        elif tag in _LINES:
            self._line()
            if tag == self._heading:
                self.finish()

    def close(self) -> None:
        """Required by lxml."""

    def finish(self) -> None:
        """Ends the heading that is open."""
        text = one_line("".join(self._inside))
        if self._heading and text and len(self.headings) < _MAX:
            self.headings.append((self._heading, text))
        self._heading, self._inside = "", []

    def _line(self) -> None:
        self.pieces.append("\n")
        if self._heading:
            self._inside.append(" ")

    def _meta(self, attributes: Mapping[str, str]) -> None:
        content = one_line(attributes.get("content", ""))
        for key in ("name", "property", "http-equiv"):
            name = one_line(attributes.get(key, ""), 100).lower()
            if name and content and len(self.metas) < _MAX:
                self.metas.append((name, content))
                return
