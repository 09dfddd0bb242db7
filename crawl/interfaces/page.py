"""Page: what parsers, parse filters and signatures are given of a fetched page."""

from __future__ import annotations

from codecs import BOM_UTF8
from functools import cached_property
from typing import TYPE_CHECKING

from crawl.html.encoding import UTF_8, decode
from crawl.model.content import Content

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from selectolax.lexbor import LexborHTMLParser


class Page:
    """A fetched page with its type and charset settled; the costly forms are made once,
    when somebody asks for them."""

    def __init__(self, content: Content, mime_type: str, charset: str = UTF_8) -> None:
        self.content = content
        self.mime_type = mime_type
        """Lower-case, without parameters: `text/html`."""
        self.charset = charset
        """The Encoding Standard's name, lower-case: `windows-1252`, `shift_jis`. Not all are known
        to Python, and some it reads otherwise: `markup` is the text."""

    @property
    def url(self) -> str:
        return self.content.url

    @property
    def body(self) -> bytes:
        return self.content.body

    @cached_property
    def markup(self) -> str:
        """The body as text; what cannot be decoded is replaced."""
        return decode(self.body, self.charset).removeprefix("\ufeff")

    @cached_property
    def utf_8(self) -> bytes:
        """The markup in UTF-8: the body as it is where it is that throughout. Bytes that are
        not must be replaced before it is read: a reader that leaves out a NUL or a stray tag
        between two of them would make a letter of them."""
        if self.charset == UTF_8:
            try:
                self.body.decode("utf-8")
            except UnicodeDecodeError:
                pass
            else:
                return self.body.removeprefix(BOM_UTF8)
        return self.markup.encode("utf-8", "replace")

    @cached_property
    def tree(self) -> LexborHTMLParser | None:
        """lexbor's tree of the markup, which is not to be changed: whoever else reads the page has
        the same one. None for markup that is made to harm those who build a tree."""
        from selectolax.lexbor import LexborHTMLParser

        from crawl.html.guard import is_safe_markup

        return LexborHTMLParser(self.utf_8) if is_safe_markup(self.utf_8) else None

    @cached_property
    def soup(self) -> BeautifulSoup:
        """The page as a BeautifulSoup tree, for plugins that look for something in it: the
        tree that browsers make of it."""
        from crawl.html.soup import soup_of

        return soup_of(self.markup)
