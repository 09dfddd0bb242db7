"""The elements of a page that its card is made of: of lexbor's tree, or of the tags alone where the
markup is made to harm those who build a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl.html.tokens import VOID, Attributes, feed, names_in
from crawl.interfaces.page import Page
from crawl.parsing.card.bounds import LeftOut
from crawl.parsing.html.node_text import TEXT, node_text
from crawl.parsing.page_dates import DATED_TAGS, DatedTag
from crawl.parsing.text.dates import LONGEST_DATE

_MAX_META = 1_000
_MAX_LINKS = 1_000
_MAX_PICTURES = 300
_MAX_DATED = 200
_MAX_DEPTH = 60
_MAX_BASE = 4_096
_NODES_OF_HEADING = 200
_PIECES_OF_HEADING = 200
_READ = 'meta,base,link[rel*="icon" i],link[rel*="alternat" i][type],link[rel*="image_src" i]'
"""Of link elements those alone that the card is made of: reading attributes is what takes time."""
_INSIDE = names_in("article main")
_AROUND = names_in("aside dialog footer header nav")


class Picture(NamedTuple):
    """An image with a stated size."""

    attributes: Attributes
    is_main: bool
    """Whether it stands in an element that holds the main content, and not merely in none of those
    that hold what is around it."""


class PageElements(Protocol):
    """What is read of a page; pictures and headings only where nothing better is known."""

    @property
    def base(self) -> str:
        """What the base element says; empty where there is none."""
        ...

    @property
    def metas(self) -> Sequence[Attributes]: ...

    @property
    def links(self) -> Sequence[Attributes]: ...

    def dated(self) -> Iterable[DatedTag]:
        """`time` elements and those of an itemprop, which may tell when the page was published."""
        ...

    def heading(self) -> str:
        """The text of the first h1."""
        ...

    def pictures(self) -> Iterator[Picture]:
        """Images with width and height that are not in menus, headers or footers."""
        ...


def elements_of(page: Page, left_out: LeftOut) -> PageElements:
    """The elements of an HTML page."""
    if page.tree is not None:
        return _TreeElements(page.tree, left_out)
    reader = _TagElements()
    feed(page.utf_8.decode("utf-8"), reader)
    left_out.count("meta.limit", reader.metas_over)
    left_out.count("link.limit", reader.links_over)
    return reader


class _TreeElements:
    def __init__(self, tree: LexborHTMLParser, left_out: LeftOut) -> None:
        self._tree = tree
        self.base = ""
        metas: list[LexborNode] = []
        links: list[LexborNode] = []
        for node in tree.css(_READ):
            tag = node.tag
            if tag == "meta":
                metas.append(node)
            elif tag == "link":
                links.append(node)
            else:
                self.base = self.base or _base(node.attributes)
        left_out.count("meta.limit", len(metas) - _MAX_META)
        left_out.count("link.limit", len(links) - _MAX_LINKS)
        self.metas = [node.attributes for node in metas[:_MAX_META]]
        self.links = [node.attributes for node in links[:_MAX_LINKS]]

    def dated(self) -> Iterable[DatedTag]:
        return self._dated

    @cached_property
    def _dated(self) -> list[DatedTag]:
        nodes = (each for each in self._tree.css("time,[itemprop]") if each.tag in DATED_TAGS)
        return [
            DatedTag(node.tag or "", node.attributes, partial(_first_text, node))
            for node in islice(nodes, _MAX_DATED)
        ]

    def heading(self) -> str:
        node = self._tree.css_first("h1")
        return "" if node is None else node_text(node, _NODES_OF_HEADING)

    def pictures(self) -> Iterator[Picture]:
        for node in islice(self._tree.css("img[width][height]"), _MAX_PICTURES):
            place = _place(node)
            if place is not None:
                yield Picture(node.attributes, place)


def _first_text(node: LexborNode) -> str:
    child = node.first_child
    return (child.text_content or "") if child is not None and child.tag == TEXT else ""


def _place(node: LexborNode) -> bool | None:
    """Whether the element is inside the main content; None inside what is around that. A header of
    an article belongs to it."""
    above = node.parent
    is_in_header = False
    for _ in range(_MAX_DEPTH):
        if above is None:
            break
        tag = above.tag or ""
        if tag in _INSIDE:
            return True
        if tag == "header":
            is_in_header = True
        elif tag in _AROUND:
            return None
        above = above.parent
    return None if is_in_header else False


def _base(attributes: Attributes) -> str:
    declared = attributes.get("href") or ""
    return declared if len(declared) <= _MAX_BASE else ""


class _TagElements:
    """A TreeHandler: takes the page tag by tag."""

    def __init__(self) -> None:
        self.base = ""
        self.metas: list[Attributes] = []
        self.links: list[Attributes] = []
        self._dated: list[DatedTag] = []
        self.metas_over = self.links_over = 0
        self._dated_text: list[str] | None = None
        """Where the text goes that comes next, behind the start of an element with a date."""
        self._pictures: list[Picture] = []
        self._open: Counter[str] = Counter()
        self._heading: list[str] = []
        self._has_heading = False

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag == "meta":
            if len(self.metas) < _MAX_META:
                self.metas.append(attributes)
            else:
                self.metas_over += 1
        elif tag == "link":
            if len(self.links) < _MAX_LINKS:
                self.links.append(attributes)
            else:
                self.links_over += 1
        elif tag == "base" and not self.base:
            self.base = _base(attributes)
        elif tag == "img" and "width" in attributes and "height" in attributes:
            self._picture(attributes)
        self._dated_text = None
        if tag == "time" or (tag in DATED_TAGS and "itemprop" in attributes):
            self._date(tag, attributes)
        if tag not in VOID:
            self._open[tag] += 1

    def end(self, tag: str) -> None:
        self._dated_text = None
        self._open[tag] -= 1
        if tag == "h1":
            self._has_heading = True

    def text(self, data: str) -> None:
        if self._dated_text is not None:
            self._dated_text.append(data[:LONGEST_DATE])
        if self._open["h1"] and not self._has_heading and len(self._heading) < _PIECES_OF_HEADING:
            self._heading.append(data[:2_000])

    def _date(self, tag: str, attributes: Attributes) -> None:
        if len(self._dated) < _MAX_DATED:
            pieces: list[str] = []
            self._dated.append(DatedTag(tag, attributes, lambda: "".join(pieces)))
            self._dated_text = None if tag == "meta" else pieces

    def _picture(self, attributes: Attributes) -> None:
        is_main = any(self._open[tag] for tag in _INSIDE)
        if len(self._pictures) < _MAX_PICTURES and (
            is_main or not any(self._open[tag] for tag in _AROUND)
        ):
            self._pictures.append(Picture(attributes, is_main))

    def dated(self) -> Iterable[DatedTag]:
        return self._dated

    def heading(self) -> str:
        return "".join(self._heading)

    def pictures(self) -> Iterator[Picture]:
        return iter(self._pictures)
