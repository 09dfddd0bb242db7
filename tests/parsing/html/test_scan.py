from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.html.scan import scan_markup


def test_metas_headings_and_text() -> None:
    seen = scan_markup(
        """<!doctype html><html><head><title>T</title><META NAME=Description CONTENT=' A  b '>
        <meta property="og:title" content="OG"><meta http-equiv=refresh content="0; url=/x">
        <meta name=empty content=""><meta charset=utf-8><style>h1 {}</style></head>
        <body><h1>One <b>bold</b></h1><h2>Two</h2><h1>Three<br>lines</h1><h3></h3>
        <p>Some &amp; text<script>x()</script></p><h2>open"""
    )
    assert seen.metas == (
        ("description", "A b"),
        ("og:title", "OG"),
        ("refresh", "0; url=/x"),
    )
    assert seen.headings == (
        ("h1", "One bold"),
        ("h2", "Two"),
        ("h1", "Three lines"),
        ("h2", "open"),
    )
    assert seen.text.split("\n") == [
        *("One bold", "Two", "Three", "lines", "Some & text", "open"),
    ]


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 100_000 + "</span>" * 100_000,
        "<b><i><a>" * 50_000,
        "<" * 500_000,
        "<meta " + "a='b' " * 100_000,
        "<!--" * 200_000,
        "<table><tr><td>" * 50_000,
        "</p>" * 300_000,
        "\0" * 500_000,
    ],
)
def test_floods_end(markup: str) -> None:
    assert scan_markup("<h1>x</h1>" + markup).headings[0] == ("h1", "x")


def test_tags_are_bounded() -> None:
    seen = scan_markup("<meta name=a content=b>" * 5000 + "<h1>x</h1>" * 5000)
    assert (len(seen.metas), len(seen.headings)) == (1000, 1000)


@given(st.text(st.characters(exclude_categories=()), max_size=100))
def test_whatever_it_is_it_can_be_stored(markup: str) -> None:
    seen = scan_markup(f"<h1>{markup}</h1><meta name=x content='{markup}'>{markup}")
    for text in (seen.text, *(value for pair in (*seen.metas, *seen.headings) for value in pair)):
        assert text.encode("utf-8").decode() == text


def test_links_that_touch_have_a_blank_between_them() -> None:
    seen = scan_markup(
        "<h1><a href=x>one</a><a href=y>two</a></h1><p><a href=x>th</a>ree"
        "<p><a name=x>(<a href=y>four</a>)</p>"
    )
    assert seen.headings == (("h1", "one two"),)
    assert seen.text == "one two\nthree\n(four)"
