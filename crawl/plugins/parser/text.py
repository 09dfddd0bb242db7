"""parser text: plain text as it stands, and the links in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Parse
from crawl.parsing.text.links import links_in_text
from crawl.parsing.text.plain import storable


class TextParser(Parser):
    """Everything that calls itself text and has no parser of its own."""

    mime_types: ClassVar[tuple[str, ...]] = ("text/plain", "text/*")

    def __init__(self, config: Config) -> None:
        """There is nothing to set."""

    def parse(self, page: Page) -> Sequence[Parse]:
        text = storable(page.markup).strip()
        links = links_in_text(text)
        return (
            Parse(page.url, text=text, outlinks=links.links, outlinks_over_limit=links.over_limit),
        )
