"""Bodies as servers send them, and the sitemaps in them."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.formats.sitemaps import Sitemap, SitemapKind
from crawl.parsing.sitemap_body import NoSitemap, sitemap_of_body

URL = "http://a.test/sitemap.xml"
XML = b"<?xml version='1.0'?><urlset><url><loc>http://a.test/1</loc></url></urlset>"
TYPES = ("text/xml", "text/html", "application/x-gzip", "binary/octet-stream", "")
PACKED = gzip.compress(XML, mtime=0)


def read(body: bytes, content_type: str = "", most: int = 100, max_bytes: int = 10_000) -> Sitemap:
    found = sitemap_of_body(URL, body, content_type, most=most, max_bytes=max_bytes)
    assert isinstance(found, Sitemap)
    return found


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize(
    "body",
    [XML, PACKED, gzip.compress(PACKED, mtime=0), b"\xef\xbb\xbf" + XML],
    ids=["plain", "packed", "packed twice", "with a BOM"],
)
def test_whatever_the_server_calls_it_the_bytes_tell(body: bytes, content_type: str) -> None:
    assert [entry.url for entry in read(body, content_type).entries] == ["http://a.test/1"]


def test_other_charsets() -> None:
    text = (
        '<?xml version="1.0" encoding="{}"?><urlset><url><loc>http://a.test/é</loc></url></urlset>'
    )
    for codec in ("utf-8", "iso-8859-1", "utf-16"):
        found = read(text.format(codec).encode(codec))
        assert found.entries[0].url == "http://a.test/%C3%A9"


def test_feeds_list_links_with_their_last_change() -> None:
    rss = b"""<rss version="2.0"><channel><link>http://a.test/</link><title>t</title>
      <item><link>http://a.test/1</link><pubDate>Tue, 04 Mar 2025 05:06:07 GMT</pubDate></item>
      <item><link> /2 </link><enclosure url="http://a.test/x.mp3"/></item>
      <item><title>no link</title></item></channel></rss>"""
    found = read(rss, "application/rss+xml")
    assert [(entry.url, entry.lastmod) for entry in found.entries] == [
        ("http://a.test/1", "Tue, 04 Mar 2025 05:06:07 GMT"),
        ("http://a.test/2", ""),
    ]
    assert found.bad == 1
    atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.test/"/>
      <entry><link rel="enclosure" href="http://a.test/x"/><link href="http://a.test/1"/>
        <published>2025-01-01</published><updated>2025-02-02T00:00:00Z</updated>
        <source><link href="http://b.test/"/><updated>2024-01-01</updated></source></entry>
      <entry><updated>2025-02-03</updated><link rel="alternate" href="2"/></entry></feed>"""
    found = read(atom, "application/atom+xml")
    assert [(entry.url, entry.lastmod) for entry in found.entries] == [
        ("http://a.test/1", "2025-02-02T00:00:00Z"),
        ("http://a.test/2", "2025-02-03"),
    ]
    assert found.kind is SitemapKind.URLSET
    short = read(atom, most=1)
    assert (len(short.entries), short.cut) == (1, True)


def test_a_packed_body_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    entries = b"".join(b"<url><loc>http://a.test/%d</loc></url>" % n for n in range(500))
    packed = gzip.compress(b"<urlset>" + entries + b"</urlset>")
    found = read(packed[: len(packed) // 2], max_bytes=1 << 20, most=1000)
    assert 0 < len(found.entries) < 500
    assert found.cut
    assert read(packed, max_bytes=2000).cut
    several = gzip.compress(b"<urlset>") + gzip.compress(entries + b"</urlset>")
    assert len(read(several, max_bytes=1 << 20, most=1000).entries) == 500


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"\x1f\x8b\x08\x00garbage!", "bad_gzip"),
        (b"<html><body>404</body></html>", "not_a_sitemap"),
        (b"just a text", "not_a_sitemap"),
    ],
)
def test_what_is_none_has_a_reason(body: bytes, reason: str) -> None:
    found = sitemap_of_body(URL, body, "text/xml", most=10, max_bytes=1000)
    assert found == NoSitemap(reason)


@given(st.binary(max_size=300) | st.binary(max_size=300).map(gzip.compress), st.sampled_from(TYPES))
def test_no_body_is_too_odd(body: bytes, content_type: str) -> None:
    found = sitemap_of_body(URL, body, content_type, most=5, max_bytes=200)
    assert isinstance(found, NoSitemap) or len(found.entries) <= 5


def test_entries_of_a_feed_beyond_the_limit_are_counted() -> None:
    items = b"".join(b"<item><link>http://a.test/%d</link></item>" % n for n in range(5))
    found = read(b"<rss><channel>" + items + b"</channel></rss>", most=3)
    assert (len(found.entries), found.over_limit, found.cut) == (3, 2, True)


def test_a_link_of_a_feed_with_an_undefined_reference_is_none() -> None:
    body = b"<rss><channel><item><link>http://a.test/&nonsense;</link></item></channel></rss>"
    found = read(body)
    assert (found.entries, found.bad) == ((), 1)
