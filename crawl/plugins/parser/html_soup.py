"""html-soup: reads HTML by its BeautifulSoup tree, for parsers of one's own.

It finds the same as `html` and takes some seven times as long. Subclass it and name the
class in `plugin.parser` as `module:Class`:

    class WithoutMenus(SoupHtmlParser):
        def is_seen(self, element: Tag) -> bool:
            return element.name != "nav"

        def finish(self, page: Page, soup: BeautifulSoup, parse: Parse) -> Parse:
            price = soup.select_one(".price")
            if price is None:
                return parse
            return replace(parse, metadata={**parse.metadata, "price": price.get_text()})
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, PreformattedString, Tag

from crawl.config import Config
from crawl.html.tokens import VOID
from crawl.interfaces.page import Page
from crawl.model.parse import Parse
from crawl.parsing.html.microdata import with_microdata
from crawl.parsing.html.reader import HtmlReader, HtmlSettings
from crawl.parsing.settings import HTTP_AGENT_NAME


class SoupHtmlParser:
    """Text, title, links and what else an HTML page says; made to be extended."""

    mime_types: ClassVar[tuple[str, ...]] = ("text/html", "application/xhtml+xml")

    def __init__(self, config: Config) -> None:
        self._settings = HtmlSettings.from_config(config, config[HTTP_AGENT_NAME])

    def parse(self, page: Page) -> Sequence[Parse]:
        reader = HtmlReader(page.url, self._settings, page.charset)
        self._read(page.soup, reader)
        parse = with_microdata(reader.parse(), page)
        return (self.finish(page, page.soup, parse),)

    def is_read(self, element: Tag) -> bool:
        """To override: whether an element is looked at, and all that is in it."""
        return True

    def is_seen(self, element: Tag) -> bool:
        """To override: whether an element's text belongs to the page's. Its links do."""
        return True

    def finish(self, page: Page, soup: BeautifulSoup, parse: Parse) -> Parse:
        """To override: the last word on what was found. The tree is the page's own, which
        parse filters see as well: leave it as it is."""
        return parse

    def _read(self, soup: BeautifulSoup, reader: HtmlReader) -> None:
        """Without recursion: a page may be deeper than Python's stack."""
        element: PageElement | None = next(iter(soup.contents), None)
        open_elements: list[tuple[Tag, bool]] = []
        while element is not None:
            while open_elements and element.parent is not open_elements[-1][0]:
                self._end(*open_elements.pop(), reader)
            if isinstance(element, Tag):
                if not self.is_read(element):
                    element = _behind(element)
                    continue
                reader.start(element.name, _attributes(element))
                if element.name not in VOID:
                    is_seen = self.is_seen(element)
                    if not is_seen:
                        reader.hide()
                    open_elements.append((element, is_seen))
            elif isinstance(element, NavigableString) and not isinstance(
                element, PreformattedString
            ):
                reader.text(str(element))
            element = element.next_element
        while open_elements:
            self._end(*open_elements.pop(), reader)

    def _end(self, element: Tag, is_seen: bool, reader: HtmlReader) -> None:
        if not is_seen:
            reader.show()
        reader.end(element.name)


def _attributes(element: Tag) -> dict[str, str | None]:
    return {
        name: value if isinstance(value, str) else " ".join(value)
        for name, value in element.attrs.items()
    }


def _behind(element: Tag) -> PageElement | None:
    """What comes after the element and all that is in it."""
    siblings = (each.next_sibling for each in chain((element,), element.parents))
    return next((each for each in siblings if each is not None), None)
