from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.html import guard
from crawl.html.guard import is_safe_markup

PARAGRAPH = (
    "<p class=x>Some <b>bold</b> and <i class='icon x'>odd</i> text with <a href=/x>a link</a>,"
    "<br>a break, <img src=/i alt=''> and <svg><path d='M 1' /></svg></p>\n<ul><li>one<li>two</ul>"
)


@pytest.mark.parametrize("times", [0, 1, 100, 1_000, 5_000])
def test_ordinary_pages_of_any_size_are_tame(times: int) -> None:
    assert is_safe_markup(f"<html><body>{PARAGRAPH * times}</body></html>".encode())


def test_pages_of_unclosed_items_are_tame() -> None:
    assert is_safe_markup(b"<table>" + b"<tr><td>1<td>2" * 30_000)
    assert is_safe_markup(b"<ul>" + b"<li>item" * 30_000)
    assert is_safe_markup(b"<p>text" * 30_000)


def test_large_attributes_and_scripts_are_tame() -> None:
    data = "A/b+" * 50_000
    assert is_safe_markup(f"<img src='data:image/png;base64,{data}'><p>text".encode())
    assert is_safe_markup(f"<div data-x='{'word ' * 3_000}'>text".encode())
    assert is_safe_markup(f"<script>{'x = 1; ' * 50_000}</script>".encode())
    assert is_safe_markup(b"words " * 1_000_000)


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 20_000,
        b"<div>" * 20_000 + b"</div>" * 20_000,
        b"<div></x>" * 20_000,
        b"<x>" * 30_000,
        b"<ul><li>" * 15_000,
        b"<x>" * 5_000 + b"</y>" * 250_000,
        b"<p>" + b"".join(b"<b a=%d>" % n for n in range(1_000)) + b"<p>x" * 1_000,
        b"<p>" + b"<font size=1><i id=x>" * 2_000 + b"</p><p>x" * 2_000,
        b"<a " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b">",
        b"<a " + b" ".join(b"a%d" % n for n in range(20_000)),
        b"<a " + b" ".join(b"a%d='>'" % n for n in range(20_000)) + b">",
        b"<a " + b" ".join(b"a%d='<b'" % n for n in range(20_000)) + b">",
        b"".join(b"<html a%d=1>" % n for n in range(20_000)),
    ],
)
def test_pages_made_to_harm_are_not(body: bytes) -> None:
    assert not is_safe_markup(body)
    assert not is_safe_markup(b"<html><body>Some text. " + body + b" More text.</body></html>")


@given(st.binary(max_size=300))
def test_small_pages_are_tame_whatever_they_are(body: bytes) -> None:
    assert is_safe_markup(body)


_BITS = st.sampled_from(
    [
        *(b"<p>text", b">", b"x" * 5_000, b"<b a=1>" * 300, b"</i>" * 500, b"<" * 400),
        *(b"<a " + b"a " * times for times in (10, 2_000, 4_001, 5_000)),
        b"a " * 4_500,
    ]
)


@given(st.lists(_BITS, max_size=12))
def test_a_glance_says_no_more_than_a_look(bits: list[bytes]) -> None:
    body = b"".join(bits)
    if guard._is_plain(body, np.frombuffer(body, np.uint8)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(guard, "_is_plain", lambda data, octets: False)
            assert is_safe_markup(body)
