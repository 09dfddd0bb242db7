"""parsefilter: looks at a parsed page and adds to what the parser found."""

from __future__ import annotations

from typing import Protocol

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.parse import Parse


class ParseFilter(Protocol):
    """One addition. Parse filters form a chain in `parsefilter.order`, each given its
    predecessor's parse; they see successful parses only."""

    def __init__(self, config: Config) -> None:
        """Reads its properties; raises ConfigError where they cannot be meant."""

    def filter(self, page: Page, parse: Parse) -> Parse:
        """The parse with what this filter has to add or take away.

        `page.soup` is the page as a tree. A filter that raises is counted and passed over.
        """
        ...
