from __future__ import annotations

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
    ],
)
def test_types(declared: str, body: bytes, url: str, expected: str) -> None:
    assert mime_type(Content(url, body, declared)) == expected


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
