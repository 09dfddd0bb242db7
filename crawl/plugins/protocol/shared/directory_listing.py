"""A folder as an HTML page: its entries are links, so that a crawl can follow them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from crawl.interfaces.protocol import Truncation

SHORTEST_LINE = len('<li><a href="./x">x</a></li>\n')
"""Length of the shortest line of an entry."""


def listing_page(
    path: str, entries: Iterable[tuple[str, bool]], limit: int
) -> tuple[bytes, Truncation]:
    """A page of links from (name, is folder); cut between two entries at the limit."""
    title = escape(f"Index of {path}")
    first = f"<!DOCTYPE html>\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n"
    pieces = [first.encode("utf-8", "replace")]
    size = len(pieces[0])
    for name, is_folder in entries:
        shown = name + "/" if is_folder else name
        link = quote(shown.encode("utf-8", "surrogateescape"))
        # ./ keeps a name with a colon from being read as a scheme
        line = f'<li><a href="./{link}">{escape(shown)}</a></li>\n'.encode("utf-8", "replace")
        size += len(line)
        if size > limit:
            return b"".join(pieces), Truncation.LENGTH
        pieces.append(line)
    return b"".join([*pieces, b"</ul>\n"]), Truncation.WHOLE
