"""Pages in every charset through the whole pipeline: what was written is what is read."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes

import endec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.html.encoding import UTF_16, encodes_queries
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan
from tests.examples import scaled
from tests.html.encoding_labels import LABELS
from tests.parsing.small_parsers import only_row

URL = "http://www.example.com/page"
WORDS = st.text(st.characters(categories=["Ll", "Lu", "Lo"]), min_size=1, max_size=20)
WRITTEN = sorted(set(LABELS.values()) - UTF_16 - {"replacement"})
"""Charsets that pages can be written in, and say so in a meta tag."""


@cache
def pipeline() -> Pipeline:
    config = Config.of({"http.agent.name": "test", "urlfilter.order": ()})
    return Pipeline(ParsePlan.from_config(config))


def read(body: bytes, content_type: str = "text/html") -> dict[str, Any]:
    page = Content(URL, body, content_type, 200, status=int(Status.FETCH_SUCCESS))
    return only_row(pipeline().parse([page]))


def link_of(row: dict[str, Any]) -> str:
    (link,) = row["outlinks"]
    return str(link["url"])


@given(WORDS, st.sampled_from(sorted(LABELS.items())), st.booleans())
@settings(max_examples=scaled(300), deadline=None)
def test_what_a_page_says_is_read_under_any_label(
    word: str, named: tuple[str, str], is_in_header: bool
) -> None:
    label, charset = named
    if charset not in WRITTEN or (charset == "x-user-defined" and not is_in_header):
        return
    meta = "" if is_in_header else f"<meta charset={label}>"
    markup = f"<html>{meta}<title>{word}</title><a href='/a?q={word}'>{word}</a>"
    body = endec.encode(markup, charset, "xmlcharrefreplace")
    row = read(body, f"text/html; charset={label}" if is_in_header else "text/html")
    assert (row["charset"], row["title"]) == (charset, word)
    path, _, query = link_of(row).partition("?q=")
    assert path == "http://www.example.com/a"
    sent = charset if encodes_queries(charset) else "utf-8"
    assert unquote_to_bytes(query) == endec.encode(word, sent, "xmlcharrefreplace")


@pytest.mark.parametrize(
    ("body", "charset", "title"),
    [
        (b"<meta charset=bogus><meta charset=euc-jp><title>\xad\xa1\xa4\xa2", "euc-jp", "①あ"),
        (b"<title>\x1b$BF|K\\8l$N%F%9%H\x1b(B</title>", "iso-2022-jp", "日本語のテスト"),
        ("<title>Grüße für Köln".encode() + b"\x96", "utf-8", "Grüße für Köln\ufffd"),
        (b"<meta charset=iso-2022-kr><title>x", "replacement", ""),
    ],
)
def test_charsets_of_pages(body: bytes, charset: str, title: str) -> None:
    row = read(body)
    assert (row["charset"], row["title"]) == (charset, title)


def test_a_links_query_goes_through_the_normalizers_in_the_charset_of_its_page() -> None:
    body = "<meta charset=shift_jis><a href='?q=日本'>x</a>".encode("shift_jis")
    assert link_of(read(body)) == f"{URL}?q=%93%FA%96%7B"
