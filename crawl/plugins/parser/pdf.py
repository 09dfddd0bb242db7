"""parser pdf: text, facts and link annotations of PDF files.

They take tens of milliseconds a page, so the number of pages is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from crawl.config import Config, integer
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Parse
from crawl.parsing.text.plain import invalid

MAX_PAGES = integer(
    "parser.pdf.max.pages",
    500,
    "Pages of a PDF file that are read; the rest is left out.",
    unit="pages",
    minimum=1,
)
MAX_TEXT = integer(
    "parser.pdf.max.text",
    4_000_000,
    "Characters of text read of a PDF file.",
    unit="characters",
    minimum=1,
)

_HEAD = 1024
"""Bytes before which `%PDF-` must stand; what comes before it is forgiven."""


class PdfParser(Parser):
    """Portable Document Format."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/pdf", "application/x-pdf")

    def __init__(self, config: Config) -> None:
        self._max_pages = config[MAX_PAGES]
        self._max_text = config[MAX_TEXT]

    def parse(self, page: Page) -> Sequence[Parse]:
        if b"%PDF-" not in page.body[:_HEAD]:
            return (invalid(page.url, "no PDF: it does not begin with %PDF-"),)
        from crawl.parsing.formats.pdf import read_pdf  # it is slow to import

        return (read_pdf(page.url, page.body, self._max_pages, self._max_text),)
