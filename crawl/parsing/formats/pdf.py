"""PDF files read with pypdf: text, facts and link annotations.

pypdf because it is pure Python under a free licence and kept up against hostile files: it
bounds what a stream may decompress to. It is slow to import, so it is imported with the first
PDF.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from crawl.model.parse import Outlink, Parse
from crawl.parsing.text.links import MAX_LINKS, MAX_URL
from crawl.parsing.text.plain import facts, invalid, one_line, storable
from crawl.urls.parse import resolve

_MAX_ANNOTATIONS = 10_000
_FAULTS = (
    *(PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError),
    *(ArithmeticError, AssertionError, NotImplementedError, OSError, LookupError),
)
"""What a damaged file makes the library raise."""

# it tells of every flaw of every file, which is nothing for an executor's log
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def read_pdf(url: str, body: bytes, max_pages: int, max_text: int) -> Parse:
    """What is in the file, or a parse that says why nothing can be read."""
    try:
        return _read(url, body, max_pages, max_text)
    except DependencyError:
        return invalid(url, "encrypted by a cipher that cannot be read here")
    except _FAULTS as error:
        return invalid(url, f"no PDF that can be read: {str(error) or type(error).__name__}")


def _read(url: str, body: bytes, max_pages: int, max_text: int) -> Parse:
    reader = PdfReader(io.BytesIO(body), strict=False)
    # with an empty password everybody may read, though not everybody may print
    if reader.is_encrypted and not reader.decrypt(""):
        return invalid(url, "encrypted: it needs a password")
    count = len(reader.pages)
    texts: list[str] = []
    links: dict[Outlink, None] = {}
    length = flawed = over_limit = 0
    for number in range(min(count, max_pages)):
        try:
            sheet = reader.pages[number]
            texts.append(sheet.extract_text()[: max_text - length])
            length += len(texts[-1])
            annotations = _annotations(sheet)
            read = annotations[:_MAX_ANNOTATIONS] if len(links) < MAX_LINKS else ()
            over_limit += len(annotations) - len(read)
            links.update(dict.fromkeys(_links(read, url)))
        except _FAULTS:
            flawed += 1
        if length >= max_text:
            break
    if flawed and flawed == min(count, max_pages):
        return invalid(url, "no PDF that can be read: not one of its pages")
    information = _information(reader)
    return Parse(
        url,
        title=one_line(information.pop("title", "")),
        text=storable("\n\n".join(text.strip() for text in texts)).strip(),
        outlinks=tuple(links)[:MAX_LINKS],
        outlinks_over_limit=over_limit + max(0, len(links) - MAX_LINKS),
        metadata=facts(information | {"pdf.pages": str(count)}),
    )


def _information(reader: PdfReader) -> dict[str, str]:
    """What the file says of itself, under lower-case names; nothing where that is broken."""
    plain = ("Title", "Author", "Subject", "Keywords", "Creator", "Producer")
    names = {f"/{name}": name.lower() for name in plain}
    names |= {"/CreationDate": "created", "/ModDate": "modified"}
    try:
        information: dict[Any, Any] = reader.metadata or {}
        return {
            name: str(information[key])
            for key, name in names.items()
            if isinstance(information.get(key), str)
        }
    except _FAULTS:
        return {}


def _annotations(sheet: Any) -> Sequence[Any]:
    annotations = sheet.get("/Annots")
    return (annotations.get_object() if annotations is not None else None) or ()


def _links(annotations: Sequence[Any], base: str) -> Iterator[Outlink]:
    """The targets of those annotations that are links."""
    for reference in annotations:
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
