"""parsefilter markdown: the main text of a page as Markdown, as metadata `_markdown_`.

It is off unless `parsefilter.order` names it. The realtime lane has it made of the pages of which
somebody asks for it."""

from __future__ import annotations

from dataclasses import replace

from crawl.config import Config, boolean, size
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.markdown import MARKDOWN_KEY, markdown_of

SIZE = size("markdown.size", 100_000, "Of a page's Markdown so much is kept, in whole lines.")
EVERY_PAGE = boolean(
    "markdown.every.page",
    True,
    "Make Markdown of every page; else of those alone whose content's metadata ask for it.",
)


class MarkdownParseFilter(ParseFilter):
    """Adds the Markdown of the page."""

    def __init__(self, config: Config) -> None:
        self._size: int = config[SIZE]
        self._is_for_all: bool = config[EVERY_PAGE]

    def filter(self, page: Page, parse: Parse) -> Parse:
        # what is inside a page is not its main text
        if parse.url != page.url or not self._size:
            return parse
        if not self._is_for_all and MARKDOWN_KEY not in page.content.metadata:
            return parse
        counts = dict(parse.counts)
        if "noindex" in parse.directives:  # as the text that is searched
            counts["markdown.left_out.noindex"] = counts.get("markdown.left_out.noindex", 0) + 1
            return replace(parse, counts=counts)
        text = markdown_of(page, parse, self._size)
        return replace(parse, metadata={**parse.metadata, MARKDOWN_KEY: text}) if text else parse
