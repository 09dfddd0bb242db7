"""The card of what is no HTML page: a PDF file, a feed, an image, a text.

title        what the document calls itself, else the name of the file as the server or the address
             has it
description  a feed's subtitle, a file's subject
image        an image itself, with the size that its first bytes tell
type         image, video, audio, feed, sitemap, document or text: words of ours, for it has none
published    when a PDF file was made, a feed came out
modified     when a PDF file was changed, a feed was updated, else the header Last-Modified
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from crawl.interfaces.page import Page
from crawl.model.parse import Parse
from crawl.parsing.card.bounds import Addresses, LeftOut, line
from crawl.parsing.card.card import (
    MAX_AUTHORS,
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_TITLE,
    Card,
    CardFeed,
    CardImage,
)
from crawl.parsing.card.picture_size import picture_size
from crawl.parsing.html.links import links_of_page
from crawl.parsing.link_lists import FEED_ENTRIES_KEY, SITEMAP_KIND_KEY
from crawl.parsing.text.dates import normalized_date

_PDF = ("application/pdf", "application/x-pdf")
_KINDS = ("image", "video", "audio", "text")
_DOCUMENTS = (
    *_PDF,
    "application/msword",
    "application/rtf",
    "application/epub+zip",
    "application/postscript",
    "application/vnd.oasis.opendocument",
    "application/vnd.openxmlformats-officedocument",
    "application/vnd.ms-",
)
_PDF_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?)?.*", re.A | re.S
)


def other_card(page: Page, parse: Parse, left_out: LeftOut) -> Card:
    """The card of a document by what its parser has found."""
    metadata = parse.metadata
    addresses = Addresses(links_of_page(page.url, ""), left_out)
    is_feed = FEED_ENTRIES_KEY in metadata
    url = addresses(page.url, "url") if is_feed or page.mime_type.startswith("image/") else ""
    title = line(parse.title, MAX_TITLE) or line(metadata.get("content.name"), MAX_TITLE)
    image = feeds = None
    if url and is_feed:
        feeds = (CardFeed(url, line(parse.title, MAX_NAME), line(page.mime_type, MAX_NAME)),)
    elif url:
        width, height = picture_size(page.body) or (None, None)
        image = CardImage(url, width, height, type=line(page.mime_type, MAX_NAME))
    return Card(
        title=title,
        description=line(metadata.get("description") or metadata.get("subject"), MAX_DESCRIPTION),
        image=image,
        canonical=addresses(parse.canonical, "canonical"),
        type=_kind(page.mime_type, is_feed=is_feed, is_sitemap=SITEMAP_KIND_KEY in metadata),
        published=_date(_values(metadata.get(key) for key in ("created", "published"))),
        modified=_date(
            _values(
                (
                    *(metadata.get(key) for key in ("modified", "updated", "last.modified")),
                    page.content.headers.get("last-modified"),
                )
            )
        ),
        authors=_authors(metadata.get("author", "")),
        language=parse.language,
        feeds=feeds or (),
    )


def _kind(mime_type: str, *, is_feed: bool, is_sitemap: bool) -> str:
    if is_feed or is_sitemap:
        return "feed" if is_feed else "sitemap"
    if mime_type.startswith(_DOCUMENTS):
        return "document"
    kind = mime_type.partition("/")[0]
    return kind if kind in _KINDS else ""


def _values(texts: Iterable[str | None]) -> Iterator[str]:
    return (text for text in texts if text)


def _date(texts: Iterable[str]) -> str:
    for text in texts:
        if found := normalized_date(text) or _pdf_date(text):
            return found
    return ""


def _pdf_date(text: str) -> str | None:
    """`D:20260102030405+01'00'`, as PDF files write it."""
    match = _PDF_DATE.fullmatch(text[:100])
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, offset, minutes = match.groups()
    day_text = f"{year}-{month}-{day}"
    if hour is None:
        return normalized_date(day_text)
    zone = "Z" if utc else f"{offset}:{minutes or '00'}" if offset else ""
    return normalized_date(f"{day_text}T{hour}:{minute}:{second or '00'}{zone}")


def _authors(text: str) -> tuple[str, ...]:
    names = (line(each, MAX_NAME) for each in text.split(", "))
    return tuple(islice(dict.fromkeys(filter(None, names)), MAX_AUTHORS))
