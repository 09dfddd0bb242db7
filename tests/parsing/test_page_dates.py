"""When a page was published, by what it says itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from crawl.parsing.page_dates import DatedTag, page_dates_of, published_of
from crawl.parsing.text.dates import normalized_date

URL = "http://a.test/story"
NOW = 1_790_000_000_000  # in September 2026


def published(markup: str = "", url: str = URL, **metadata: str) -> str | None:
    return published_of(metadata, markup.encode(), url, NOW)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-01-02", "2026-01-02"),
        ("2026-1-2", "2026-01-02"),
        ("2026/01/02", "2026-01-02"),
        ("20260102", "2026-01-02"),
        ("2026-01", "2026-01"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04:05.678+0100", "2026-01-02T03:04:05+01:00"),
        ("2026-01-02T03:04+01", "2026-01-02T03:04:00+01:00"),
        ("2026-01-02 03:04", "2026-01-02T03:04:00"),
        ("20260102T030405Z", "2026-01-02T03:04:05+00:00"),
        ("2026-06-30T23:59:60Z", "2026-06-30T23:59:59+00:00"),
        ("Fri, 02 Jan 2026 03:04:05 GMT", "2026-01-02T03:04:05+00:00"),
        ("Fri, 02 Jan 2026 03:04:05 +0200", "2026-01-02T03:04:05+02:00"),
        ("January 2, 2026", "2026-01-02"),
        ("Jan. 2nd, 2026", "2026-01-02"),
        ("Friday, 2 January 2026", "2026-01-02"),
        ("2 Sept 2025, 14:30", "2025-09-02T14:30:00"),
        ("January 2, 2026 3:04 PM", "2026-01-02T15:04:00"),
        ("2 January 2026 at 12:04 a.m.", "2026-01-02T00:04:00"),
        ("12/31/2025 11:59 pm", "2025-12-31T23:59:00"),
        ("January 2, 2026 13:04 PM", None),
        ("January 2, 2026 3:04 PM EST", None),
        ("02.01.2026", "2026-01-02"),
        ("13/01/2026", "2026-01-13"),
        ("1/13/2026", "2026-01-13"),
        ("1/1/2026", "2026-01-01"),
        ("1767322800", "2026-01-02T03:00:00+00:00"),
        ("1767322800123", "2026-01-02T03:00:00+00:00"),
        ("\n 2026-01-02 \t", "2026-01-02"),
        ("01/02/2026", None),  # in January or in February
        ("2026-02-30", None),
        ("2026-01-02T03:04:05+99:99", None),
        ("2026-01-02T03:04+24", None),
        ("0000-01-01", None),
        ("2026-13-01", None),
        ("yesterday", None),
        ("2026", None),
        ("", None),
        ("2026-01-02" + "x" * 200, None),
    ],
)
def test_ways_to_write_a_date(text: str, date: str | None) -> None:
    assert normalized_date(text) == date


@given(st.text(max_size=150) | st.from_regex(r"[0-9T:/. +\-ZJan,]{1,40}", fullmatch=True))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = normalized_date(text)
    assert found is None or normalized_date(found) == found


def test_json_ld_is_believed_first() -> None:
    graph = {
        "@graph": [
            {"@type": "WebPage", "dateModified": "2026-03-03"},
            {
                "@type": "NewsArticle",
                "comment": [{"datePublished": "2026-02-02"}],
                "datePublished": "2026-01-02T03:04:05Z",
            },
        ]
    }
    found = published(**{"json-ld": json.dumps([graph]), "article:published_time": "2025-01-01"})
    assert found == "2026-01-02T03:04:05+00:00"


@pytest.mark.parametrize(
    ("said", "date"),
    [
        ({"datePublished": ["2026-01-02", "2026-03-03"]}, "2026-01-02"),
        ({"datePublished": {"@type": "Date", "@value": "2026-01-02"}}, "2026-01-02"),
        ({"datePublished": [{"@value": "2026-01-02"}]}, "2026-01-02"),
        ({"datePublished": 20260102}, "2026-01-02"),
        ({"datePublished": ["soon", None, True, "2026-01-02"]}, "2026-01-02"),
        ([{"datePublished": "9999-01-01"}, {"datePublished": "2026-01-02"}], "2026-01-02"),
        ({"@type": "WebPage", "mainEntity": {"datePublished": "2026-01-02"}}, "2026-01-02"),
        ({"@type": "Article", "comment": [{"datePublished": "2026-01-02"}]}, None),
        ({"@type": "Product", "review": {"datePublished": "2026-01-02"}}, None),
        ({"itemListElement": [{"item": {"datePublished": "2026-01-02"}}]}, None),
        ([{"@type": "Comment", "datePublished": "2026-01-02"}], None),
    ],
)
def test_dates_of_json_ld(said: object, date: str | None) -> None:
    assert published(**{"json-ld": json.dumps(said)}) == date


@pytest.mark.parametrize(
    "name",
    [
        *("article:published_time", "og:article:published_time", "article:published"),
        *("dc.date.issued", "dcterms.issued", "datepublished", "pubdate", "date"),
    ],
)
def test_meta_tags(name: str) -> None:
    assert published(**{name: "2026-01-02"}) == "2026-01-02"


@pytest.mark.parametrize(
    "markup",
    [
        '<p>x<time pubdate datetime="2026-01-02">long ago</time>',
        '<TIME itemprop="datePublished" datetime="2026-01-02">',
        '<meta itemprop="datePublished" content="2026-01-02">',
        '<span itemprop="headline datePublished">January 2, 2026</span>',
        '<time class="entry-date published" datetime="2026-01-02T00:00:00">',
    ],
)
def test_marked_elements(markup: str) -> None:
    found = published(markup)
    assert found is not None and found.startswith("2026-01-02")


def test_the_address_comes_last() -> None:
    url = "http://a.test/2026/01/02/story"
    assert published(url=url) == "2026-01-02"
    assert published(url=url, date="2025-12-31") == "2025-12-31"
    assert published(url="http://a.test/2026/01/021") is None
    assert published(url="http://a.test/2026/13/02/x") is None


def test_what_cannot_be_is_passed_over() -> None:
    assert (
        published(**{"article:published_time": "2999-01-01", "date": "2026-01-02"}) == "2026-01-02"
    )
    assert published(date="0001-01-01") is None
    assert published(date="01/02/2026", pubdate="today") is None


@pytest.mark.parametrize(
    "text", ["[" * 50_000, '{"datePublished":' * 10_000, '{"datePublished": 5}', '"datePublished"']
)
def test_json_that_does_harm(text: str) -> None:
    assert published(**{"json-ld": text}) is None


def test_a_page_of_marks_is_looked_at_for_a_while() -> None:
    assert published("published " * 100_000) is None


@pytest.mark.parametrize(
    ("metadata", "markup", "date"),
    [
        ({"json-ld": '[{"dateModified": "2026-02-03", "datePublished": "2026-01-02"}]'}, "", True),
        ({"article:modified_time": "2026-02-03"}, "", True),
        ({"og:updated_time": "2026-02-03"}, "", True),
        ({"dcterms.modified": "2026-02-03"}, "", True),
        ({}, "<time class=updated datetime=2026-02-03>", True),
        ({}, "<time class='entry-date published updated' datetime=2026-02-03>", True),
        ({}, "<span itemprop='dateModified'>February 3, 2026</span>", True),
        ({}, "<time class=published datetime=2026-02-03>", False),
        ({"article:published_time": "2026-02-03"}, "", False),
        ({}, "<p>updated <b>2026-02-03", False),
    ],
)
def test_when_a_page_was_changed(metadata: dict[str, str], markup: str, date: bool) -> None:
    tags = [
        DatedTag(node.tag or "", node.attributes, node.text)
        for node in LexborHTMLParser(markup).css("time,[itemprop]")
    ]
    dates = page_dates_of(metadata, lambda: tags, URL, NOW)
    assert dates.modified == ("2026-02-03" if date else None)
    assert dates.published == published(markup, **metadata)


@pytest.mark.parametrize("text", ["0000000000", "1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00"])
def test_the_moment_at_which_clocks_begin_is_none(text: str) -> None:
    assert published(date=text, pubdate="2026-01-02") == "2026-01-02"
    assert published(date=text) is None
    assert published(date="1970-01-01") == "1970-01-01"
