"""Cards of what is no HTML page."""

from __future__ import annotations

import struct

import pytest

from crawl.config import Config
from crawl.model.parse import Parse
from crawl.parsing.card.card import Card, CardFeed, CardImage
from crawl.parsing.card.picture_size import picture_size
from crawl.parsing.card.read import read_card
from crawl.plugins.parser.feed import FeedParser
from crawl.plugins.parser.metadata import MetadataParser
from tests.parsing.card.card_pages import page_of

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06"
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF" + b"\0" * 10
    + b"\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 480, 640)
)  # fmt: skip
WEBP_X = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x7f\x02\0" + b"\xdf\x01\0"
WEBP_L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
WEBP = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 7 + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
BMP = b"BM" + b"\0" * 16 + struct.pack("<ii", 640, -480)


@pytest.mark.parametrize("body", [PNG, GIF, JPEG, WEBP_X, WEBP_L, WEBP, BMP])
def test_the_size_of_an_image(body: bytes) -> None:
    assert picture_size(body) == (640, 480)
    for end in range(len(body)):
        assert picture_size(body[:end]) in (None, (640, 480))


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"x", b"\xff\xd8\xff" + b"\xff" * 100_000, b"\xff\xd8\xff\xe0\0\0" * 10_000),
        *(b"\xff\xd8\xff\xd0" * 10_000, b"GIF89a\0\0\0\0", PNG[:16] + b"\0" * 8),
    ],
)
def test_what_is_no_image_has_no_size(body: bytes) -> None:
    assert picture_size(body) is None


def test_an_image_is_its_own_image() -> None:
    headers = {"last-modified": "Fri, 02 Jan 2026 03:04:05 GMT"}
    page = page_of(PNG, "image/png", url="https://a.test/the%20sea.png", headers=headers)
    parse = MetadataParser(Config.of()).parse(page)[0]
    assert read_card(page, parse) == Card(
        title="the sea.png",
        image=CardImage("https://a.test/the%20sea.png", 640, 480, type="image/png"),
        type="image",
        modified="2026-01-02T03:04:05+00:00",
        mime_type="image/png",
    )


def test_a_feed_is_its_own_feed() -> None:
    feed = (
        "<rss version='2.0'><channel><title>News</title><description>All of it</description>"
        "<language>de-AT</language><pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate>"
        "<item><title>x</title></item></channel></rss>"
    )
    page = page_of(feed, "application/rss+xml")
    parses = FeedParser(Config.of()).parse(page)
    assert parses is not None
    assert read_card(page, parses[0]) == Card(
        title="News",
        description="All of it",
        type="feed",
        published="2026-01-02T03:04:05+00:00",
        language="de",
        charset="utf-8",
        mime_type="application/rss+xml",
        feeds=(CardFeed(page.url, "News", "application/rss+xml"),),
    )


def test_a_pdf_file_says_what_it_is() -> None:
    page = page_of(b"%PDF-1.7", "application/pdf")
    facts = {"author": "Ann, Bob", "subject": "S", "created": "D:20260102030405+01'00'"}
    facts["modified"] = "D:20260103"
    assert read_card(page, Parse(page.url, title="Report", metadata=facts)) == Card(
        title="Report",
        description="S",
        type="document",
        published="2026-01-02T03:04:05+01:00",
        modified="2026-01-03",
        authors=("Ann", "Bob"),
        mime_type="application/pdf",
    )


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("D:20260102030405Z", "2026-01-02T03:04:05+00:00"),
        ("D:202601020304", "2026-01-02T03:04:00"),
        ("D:20260102030405-08'30", "2026-01-02T03:04:05-08:30"),
        ("D:20269902", ""),
        ("D:2026", ""),
        ("D:" + "9" * 10_000, ""),
    ],
)
def test_dates_of_pdf_files(written: str, date: str) -> None:
    page = page_of(b"%PDF-1.7", "application/pdf")
    assert read_card(page, Parse(page.url, metadata={"created": written})).published == date


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [("video/mp4", "video"), ("audio/ogg", "audio"), ("text/plain", "text"), ("x/y", "")],
)
def test_the_kind_of_a_document(mime_type: str, kind: str) -> None:
    page = page_of(b"", mime_type)
    assert read_card(page, Parse(page.url)).type == kind
