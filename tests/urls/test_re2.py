from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crawl.urls.re2 import ColumnSearch, is_plain, required_character, translated
from tests.urls.texts import encodable


def atoms() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            *("a", "b", "K", "/", r"\.", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "^", "$"),
            *(
                r"\b",
                "[a-c]",
                "[^/]",
                r"[^\w/]",
                r"[\s.]",
                r"[\W_]",
                "[]a]",
                "[^]a-]",
                r"\Z",
                r"\A",
            ),
            *(r"\A", "(?i:k)", "(?i:[a-k])", "(?s:.)", "(a|b|)", "(?:x|yz)", "=", r"\?", "{"),
            *("é", "[à-ü]", r"[^\x00-\x7f]", r"\n", r"\x1c", "&", "#", "%", "1", "sid="),
        ]
    )


patterns = st.recursive(
    atoms(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.builds(
            lambda body, times: f"(?:{body}){times}",
            inner,
            st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??"]),
        ),
    ),
    max_leaves=8,
)


@given(patterns, st.sampled_from(["", "(?i)", "(?s)", "(?m)", "(?a)"]), st.lists(encodable))
def test_both_engines_find_the_same_in_plain_texts(body: str, flags: str, texts: list[str]) -> None:
    try:
        pattern = re.compile(flags + body)
    except re.error:
        assume(False)
    search = ColumnSearch.of([pattern])
    if search is None:
        assert flags == "(?i)", "every construct above has a translation but for letter case"
        return
    column = pa.array(texts, pa.string())
    for text, plain, matches in zip(
        texts, is_plain(column).to_pylist(), search.matches(column).to_pylist(), strict=True
    ):
        assert plain == (text.isascii() and "\n" not in text)
        if plain:
            assert matches == (pattern.search(text) is not None), (pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<!:)/{2,}",
        r"a(?=b)",
        r"(/[^/]+)\1",
        r"(?>a+)b",
        r"a++b",
        r"(?i)ı",
        r"(?i)[à-ü]",
        r"a{1001}",
        r"\Ba",
        "\ud800",
    ],
)
def test_what_re2_reads_otherwise_is_left_to_the_row(pattern: str) -> None:
    compiled = re.compile(pattern)
    assert translated(compiled) is None
    assert ColumnSearch.of([re.compile("a"), compiled]) is None


def test_rules_are_merged_a_hundred_at_a_time() -> None:
    search = ColumnSearch.of([re.compile(f"/{number}/$") for number in range(1000)])
    assert search is not None and len(search._merged) == 10
    urls = pa.array(["http://a/999/", "http://a/0/", "http://a/0/b"])
    assert search.matches(urls).to_pylist() == [True, True, False]


def test_a_pattern_too_large_for_re2_is_left_to_the_row() -> None:
    assert ColumnSearch.of([re.compile("((a{1,500}){1,500}){1,500}")]) is None


def test_no_expression_is_found_nowhere() -> None:
    search = ColumnSearch.of([])
    assert search is not None
    assert search.matches(pa.array(["a", ""])).to_pylist() == [False, False]


def test_nulls_stay_null() -> None:
    urls = pa.array(["a\nb", None, "a"])
    assert is_plain(urls).to_pylist() == [False, None, True]
    assert ColumnSearch([r"a\z"]).matches(urls).to_pylist() == [False, None, True]


@pytest.mark.parametrize(
    ("pattern", "character"),
    [
        (r"(?i)x(?:a|b)+=.*", "="),
        (r"(?:a&)+", "&"),
        (r"&{2,}", "&"),
        (r"&*a", ""),
        (r"a|&", ""),
        (r"[&]?x", ""),
        (r"(?!&)a", ""),
        (r"\.html$", ""),
    ],
)
def test_the_character_that_a_match_needs(pattern: str, character: str) -> None:
    assert required_character(re.compile(pattern)) == character


@given(patterns, encodable)
def test_without_that_character_there_is_no_match(body: str, text: str) -> None:
    try:
        pattern = re.compile(body)
    except re.error:
        assume(False)
    if required_character(pattern) not in text:
        assert pattern.search(text) is None
