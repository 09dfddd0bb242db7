"""The main text of a page as Markdown, in the metadata of its parse: as `crawl export` makes it,
bounded, and free of control characters."""

from __future__ import annotations

from crawl.interfaces.page import Page
from crawl.maincontent.extract import extract
from crawl.model.parse import Parse
from crawl.parsing.html.scan import HTML_TYPES
from crawl.printable import without_controls

MARKDOWN_KEY = "_markdown_"
"""Where it stands in the metadata of a parse. In those of the content: somebody wants it."""


def markdown_of(page: Page, parse: Parse, most_bytes: int) -> str:
    """Of what is no HTML, and of a page without main text, all the text that there is."""
    text = ""
    if page.mime_type in HTML_TYPES:
        text = extract(page.utf_8, markdown=True, tree=page.tree).text
    return cut_markdown(without_controls(text or parse.text), most_bytes)


def cut_markdown(text: str, most_bytes: int) -> str:
    """The text, of a longer one the lines that fit; of a line that is longer itself, its
    beginning."""
    if len(text) * 4 <= most_bytes:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return text
    whole, line_end, _ = encoded[: most_bytes + 1].rpartition(b"\n")
    kept = whole if line_end else encoded[:most_bytes]
    return kept.decode("utf-8", "ignore")
