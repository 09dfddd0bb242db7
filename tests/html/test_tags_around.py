"""The tags in which certain words stand."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from crawl.html.tags_around import MAX_LOOKS, places_of, tags_around

WORDS = (b"published", b"datepublished", b"pubdate")
TAG = re.compile(rb"<(time|p)[\s/]", re.I)


def found(markup: bytes, *, is_each_once: bool = False) -> list[tuple[bytes, int]]:
    places = places_of(markup, WORDS)
    tags = tags_around(markup, places, TAG, is_each_once=is_each_once)
    return [(tag, end) for tag, _, end in tags]


def test_words_are_found_in_the_order_of_the_page_in_any_case() -> None:
    assert places_of(b"PubDate x datePublished published", WORDS) == [(0, 7), (10, 23), (24, 33)]


@given(st.lists(st.sampled_from([*WORDS, b"Published", b"date", b" ", b"<"]), max_size=20))
def test_they_are_those_that_a_pattern_of_alternatives_finds(pieces: list[bytes]) -> None:
    markup = b"".join(pieces)
    pattern = re.compile(b"datepublished|published|pubdate", re.I)
    assert places_of(markup, WORDS) == [match.span() for match in pattern.finditer(markup)]


def test_only_tags_in_which_a_word_stands() -> None:
    markup = b"<p>published</p><Time pubdate class='a>"
    assert found(markup) == [(b"time", len(markup) - 1)]
    assert found(b"<b published>") == []
    assert found(b"<p published") == []


def test_a_tag_with_two_words_counts_once_where_that_is_wanted() -> None:
    markup = b"<p pubdate published>"
    assert len(found(markup)) == 2
    assert len(found(markup, is_each_once=True)) == 1


def test_a_flood_of_words_is_looked_at_for_a_while() -> None:
    assert len(places_of(b"published " * 10_000, WORDS)) == MAX_LOOKS
