"""A page as a BeautifulSoup tree: the tree that browsers make of it.

lexbor reads the page and BeautifulSoup is given its elements, because none of BeautifulSoup's
own builders will do: lxml's and html.parser's trees are not those of the HTML standard, and
html5lib needs 100 ms for a page of 90 kB.
"""

from __future__ import annotations

from bs4 import BeautifulSoup
from bs4.builder import HTMLTreeBuilder
from bs4.element import Comment
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl.html.guard import is_safe_markup
from crawl.html.tokens import VOID, Attributes, feed


def soup_of(markup: str) -> BeautifulSoup:
    """The tree of a page; of a page made to harm parsers, one that is flat below a depth."""
    return BeautifulSoup("", builder=_Builder(markup))


class _Builder(HTMLTreeBuilder):
    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page

    def feed(self, markup: object) -> None:
        """BeautifulSoup's own argument is empty: it would take some markup for a file name."""
        data = self._page.encode("utf-8", "replace")
        if is_safe_markup(data):
            _walk(LexborHTMLParser(data).root, self)
        else:
            feed(data.decode(), self)

    def start(self, tag: str, attributes: Attributes) -> None:
        assert self.soup is not None
        values = self.attribute_dict_class({n: value or "" for n, value in attributes.items()})
        self.soup.handle_starttag(tag, None, None, values)
        if tag in VOID:
            self.soup.handle_endtag(tag)

    def end(self, tag: str) -> None:
        assert self.soup is not None
        self.soup.handle_endtag(tag)

    def text(self, data: str) -> None:
        assert self.soup is not None
        self.soup.handle_data(data)

    def comment(self, data: str) -> None:
        assert self.soup is not None
        self.soup.endData()
        self.soup.handle_data(data)
        self.soup.endData(Comment)


def _walk(node: LexborNode | None, builder: _Builder) -> None:
    """Without recursion: a page may be deeper than Python's stack."""
    depth = 0
    while node is not None:
        tag = node.tag
        child = None
        if tag == "-text":
            builder.text(node.text_content or "")
        elif tag == "-comment":
            builder.comment(node.comment_content or "")
        elif tag is not None and not tag.startswith("-"):
            builder.start(tag, node.attributes)
            child = node.first_child
            if child is None and tag not in VOID:
                builder.end(tag)
        if child is not None:
            node = child
            depth += 1
            continue
        following = node.next
        while following is None and depth:
            depth -= 1
            parent = node.parent
            assert parent is not None and parent.tag is not None
            if parent.tag not in VOID:
                builder.end(parent.tag)
            node = parent
            following = node.next if depth else None
        node = following if depth else None
