from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.content import Content
from crawl.parsing.text.mime import UNKNOWN, essence, mime_type

URL = "http://example.org/page"


@pytest.mark.parametrize(
    ("declared", "body", "url", "expected"),
    [
        ("text/html; charset=utf-8", b"<!DOCTYPE html><p>", URL, "text/html"),
        ("TEXT/HTML", b"  \n<HTML>", URL, "text/html"),
        ("text/html", b"no markup at all", URL, "text/html"),
        ("application/xhtml+xml", b"<html>", URL, "application/xhtml+xml"),
        ("", b"<!DOCTYPE html><p>", URL, "text/html"),
        ("", b"%PDF-1.7", URL, "application/pdf"),
        ("", b"<?xml version='1.0'?><a/>", URL, "text/xml"),
        ("", b"just words", URL, "text/plain"),
        ("", b"\x00\x01\x02\x03", URL, UNKNOWN),
        ("", b"", URL, "text/plain"),
        ("nonsense", b"<!doctype html>", URL, "text/html"),
        ("application/octet-stream", b"\x00\x01", "http://e.org/a.pdf", "application/pdf"),
        ("application/octet-stream", b"\x00\x01", "http://e.org/a.tar.gz?x=1", "application/gzip"),
        ("", b'{"a": 1}', "http://e.org/a.json", "application/json"),
        ("application/json", b'{"a": 1}', URL, "application/json"),
        ("text/plain", b"<html>shown as text", URL, "text/plain"),
        ("text/plain", b"\x00\x01\x02binary", URL, UNKNOWN),
        ("application/rss+xml", b"<rss>", URL, "application/rss+xml"),
        ("text/html", b"<rss version='2.0'><channel/></rss>", URL, "application/rss+xml"),
        ("image/png", b"\x89PNG\r\n\x1a\n", URL, "image/png"),
        ("application/x-gzip", b"\x1f\x8b\x08", URL, "application/gzip"),
        ("", b"PK\x03\x04", URL, "application/zip"),
        ("application/x-gzip", b"<!doctype html><p>", URL, "text/html"),
        ("application/x-gzip", b"<urlset>", "http://e.org/sitemap.xml.gz", "application/xml"),
        ("application/gzip", b"words", "http://e.org/a.txt.gz", "text/plain"),
        ("application/gzip", b'{"a": 1}', "http://e.org/a.json.gz", "application/json"),
        ("application/x-xml", b"<doc/>", URL, "application/xml"),
        ("application/bogus", b"<urlset/>", URL, "application/xml"),
        ("binary/octet-stream", b"<!DOCTYPE html>", URL, "text/html"),
        ("", b"\xef\xbb\xbf<!DOCTYPE html>", URL, "text/html"),
        ("", "\ufeff<!DOCTYPE html>".encode("utf-16-le"), URL, "text/html"),
        ("", "<?xml version='1.0'?><urlset/>".encode("utf-16-be"), URL, "text/xml"),
        ("text/xml", b"<?xml version='1.0'?><urlset/>", URL, "text/xml"),
        ("text/xml", b"<!DOCTYPE html><title>t</title>", URL, "application/xhtml+xml"),
        ("application/rss+xml", b"<?xml version='1.0'?>\n<html>", URL, "application/xhtml+xml"),
        ("text/plain", b"<rss>", URL, "application/rss+xml"),
        ("text/html", b"<feed-back>", URL, "text/html"),
        ("text/html", b"<!-- by us --><feed xmlns='http://www.w3.org/2005/Atom'>", URL,
         "application/atom+xml"),
        ("text/html", b"http://a.org/1\nhttp://a.org/2\n", URL, "text/plain"),
        ("text/html", b"http://a.org/1<br>http://a.org/2", URL, "text/html"),
        ("image/svg+xml", b"<svg>", URL, "image/svg+xml"),
    ],
)  # fmt: skip
def test_types(declared: str, body: bytes, url: str, expected: str) -> None:
    assert mime_type(Content(url, body, declared)) == expected


PLAIN_TYPES = (
    *("text/xml", "application/xml", "text/html", "binary/octet-stream", "text/plain", ""),
    *("application/rss+xml", "application/atom+xml", "application/x-xml", "image/svg+xml"),
    *("application/xhtml+xml", "text/html; charset=utf-8", "application/octet-stream"),
)
GZIP_TYPES = (
    *("application/gzip", "application/x-gzip", "application/x-gunzip", "application/gzipped"),
    *("application/gzip-compressed", "gzip/document"),
)


@pytest.mark.parametrize("declared", [*PLAIN_TYPES, *GZIP_TYPES])
def test_what_is_packed_is_gzip_whatever_it_is_called(declared: str) -> None:
    assert mime_type(Content(URL, gzip.compress(b"<urlset/>"), declared)) == "application/gzip"


@pytest.mark.parametrize("declared", [*PLAIN_TYPES, *GZIP_TYPES])
@pytest.mark.parametrize("root", ["urlset", "sitemapindex", "ns:urlset xmlns:ns='x'"])
@pytest.mark.parametrize("before", ["", "<?xml version='1.0'?>\n", " \n<!-- c -->", "\ufeff"])
def test_a_sitemap_is_xml_whatever_it_is_called(declared: str, root: str, before: str) -> None:
    body = f"{before}<{root}>".encode()
    assert mime_type(Content(URL, body, declared)) in ("application/xml", "text/xml")


def test_without_magic_only_the_declaration_and_the_name_count() -> None:
    assert mime_type(Content(URL, b"%PDF-1.7", "text/css"), magic=False) == "text/css"
    assert mime_type(Content(URL + ".pdf", b"<html>", ""), magic=False) == "application/pdf"
    assert mime_type(Content(URL, b"<html>", ""), magic=False) == UNKNOWN


def test_essence() -> None:
    assert essence(" Text/HTML ;x=y") == "text/html"
    assert essence("text") == essence("text/ html") == essence("<a/b>") == ""


@given(st.binary(max_size=200), st.text(max_size=40), st.text(max_size=20))
def test_any_page_has_a_type(body: bytes, declared: str, path: str) -> None:
    found = mime_type(Content(f"http://e.org/{path}", body, declared))
    assert found.count("/") == 1 and found == found.lower()
