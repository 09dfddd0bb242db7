"""parser pdf: text, facts and link annotations of PDF files.

pypdf because it is pure Python under a free licence and kept up against hostile files: it
bounds what a stream may unpack to. It is slow (tens of milliseconds a page), so the number
of pages is bounded too.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from crawl.config import Config, Property, integer
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Outlink, Parse
from crawl.parsing.links_in_text import MAX_LINKS, MAX_URL
from crawl.parsing.plain_text import facts, invalid, one_line, storable
from crawl.urls.parse import resolve

MAX_PAGES: Property[int] = integer(
    "parser.pdf.max.pages",
    500,
    "Pages of a PDF file that are read; the rest is left out.",
    unit="pages",
    minimum=1,
)
MAX_TEXT: Property[int] = integer(
    "parser.pdf.max.text",
    4_000_000,
    "Characters of text read of a PDF file.",
    unit="characters",
    minimum=1,
)

_HEAD = 1024
"""Bytes before which `%PDF-` must stand; what comes before it is forgiven."""
_MOST_ANNOTATIONS = 10_000
_FAULTS = (
    *(PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError),
    *(ArithmeticError, AssertionError, NotImplementedError, OSError, LookupError),
)
"""What a damaged file makes the library raise."""


class PdfParser(Parser):
    """Portable Document Format."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/pdf", "application/x-pdf")
    properties: ClassVar[tuple[Property[Any], ...]] = (MAX_PAGES, MAX_TEXT)

    def __init__(self, config: Config) -> None:
        self._max_pages = config[MAX_PAGES]
        self._max_text = config[MAX_TEXT]
        # it tells of every flaw of every file, which is nothing for an executor's log
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)

    def parse(self, page: Page) -> Sequence[Parse]:
        if b"%PDF-" not in page.body[:_HEAD]:
            return (invalid(page.url, "no PDF: it does not begin with %PDF-"),)
        try:
            return (self._read(page),)
        except DependencyError:
            return (invalid(page.url, "encrypted by a cipher that cannot be read here"),)
        except _FAULTS as error:
            return (invalid(page.url, f"no PDF that can be read: {_told(error)}"),)

    def _read(self, page: Page) -> Parse:
        reader = PdfReader(io.BytesIO(page.body), strict=False)
        # with an empty password everybody may read, though not everybody may print
        if reader.is_encrypted and not reader.decrypt(""):
            return invalid(page.url, "encrypted: it needs a password")
        count = len(reader.pages)
        texts: list[str] = []
        links: dict[Outlink, None] = {}
        length = flawed = 0
        for number in range(min(count, self._max_pages)):
            try:
                sheet = reader.pages[number]
                texts.append(sheet.extract_text()[: self._max_text - length])
                length += len(texts[-1])
                links.update(dict.fromkeys(_links(sheet, page.url)))
            except _FAULTS:
                flawed += 1
            if length >= self._max_text or len(links) >= MAX_LINKS:
                break
        if flawed and flawed == min(count, self._max_pages):
            return invalid(page.url, "no PDF that can be read: not one of its pages")
        said = _information(reader)
        return Parse(
            page.url,
            title=one_line(said.pop("title", "")),
            text=storable("\n\n".join(text.strip() for text in texts)).strip(),
            outlinks=tuple(links)[:MAX_LINKS],
            metadata=facts(said | {"pdf.pages": str(count)}),
        )


def _information(reader: PdfReader) -> dict[str, str]:
    """What the file says of itself, under lower-case names; nothing where that is broken."""
    names = {
        "/Title": "title",
        "/Author": "author",
        "/Subject": "subject",
        "/Keywords": "keywords",
        "/Creator": "creator",
        "/Producer": "producer",
        "/CreationDate": "created",
        "/ModDate": "modified",
    }
    try:
        said: dict[Any, Any] = reader.metadata or {}
        return {
            name: str(said[key]) for key, name in names.items() if isinstance(said.get(key), str)
        }
    except _FAULTS:
        return {}


def _links(sheet: Any, base: str) -> Iterator[Outlink]:
    """The targets of its link annotations."""
    annotations = sheet.get("/Annots")
    annotations = annotations.get_object() if annotations is not None else None
    for reference in (annotations or ())[:_MOST_ANNOTATIONS]:
        try:
            action = reference.get_object().get("/A")
            target = action.get_object().get("/URI") if action is not None else None
        except _FAULTS:
            continue
        if isinstance(target, bytes):
            target = target.decode("utf-8", "replace")
        if isinstance(target, str) and 0 < len(target) <= MAX_URL:
            url = resolve(base, target.strip())
            if url is not None:
                yield Outlink(url, tag="a")


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
