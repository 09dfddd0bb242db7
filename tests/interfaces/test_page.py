from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl.interfaces.page import Page
from crawl.model.content import Content


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (b"\xef\xbb\xbfgr\xc3\xbc\xc3\x9fe", "utf-8"),
        (b"gr\xfc\xdfe", "cp1252"),
        (b"g\0r\0\xfc\0\xdf\0e\0", "utf-16-le"),
    ],
)
def test_markup_as_text_and_in_utf_8(body: bytes, charset: str) -> None:
    page = Page(Content("http://example.com/", body), "text/html", charset)
    assert page.markup == "grüße"
    assert page.utf_8 == "grüße".encode()


@given(st.binary(max_size=50) | st.text(max_size=50).map(str.encode))
@example(b"a\xffb")
@example(b"\xef\xbb\xbfa")
def test_in_utf_8_is_what_its_markup_is(body: bytes) -> None:
    page = Page(Content("http://example.com/", body), "text/html")
    assert page.utf_8 == page.markup.encode()
