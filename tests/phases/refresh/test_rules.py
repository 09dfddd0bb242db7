"""Which URLs a pattern means, and what becomes of a record."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl.errors import UsageError
from crawl.model.status import Status
from crawl.phases.refresh.rules import RefreshOutcome, parse_pattern, refresh_outcome
from crawl.urls.parse import host_of, parse

URLS = (
    "http://example.org/",
    "https://example.org/",
    "https://example.org/blog/1",
    "https://example.org/blog/1?page=2",
    "https://example.org:8443/blog/2",
    "https://www.example.org/blog/3",
    "https://a.b.example.org/x/blog/4",
    "https://notexample.org/",
    "https://example.org.evil.net/",
    "https://xn--bcher-kva.example/a.b+c(d)",
    "http://127.0.0.1:8080/p1",
    "http://127.0.0.1:8080/p10",
    "http://127.0.0.1:9090/p1",
)


def meant(text: str) -> set[int]:
    pattern = parse_pattern(text)
    found = {place for place, url in enumerate(URLS) if pattern.matches(url, host_of(url) or "")}
    if pattern.host:
        assert all(host_of(URLS[place]) == pattern.host for place in found)
    return found


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("example.org", {0, 1, 2, 3, 4}),
        ("EXAMPLE.org", {0, 1, 2, 3, 4}),
        ("*.example.org", {0, 1, 2, 3, 4, 5, 6}),
        ("*.b.example.org", {6}),
        ("https://example.org/", {1}),
        ("https://example.org/*", {1, 2, 3}),
        ("https://Example.org/blog/1", {2}),
        ("https://example.org/blog/1*", {2, 3}),
        ("https://example.org/blog/1?page=2", {3}),
        ("example.org/blog/*", {2, 3, 4}),
        ("example.org/", {0, 1}),
        ("example.org:8443", {4}),
        ("*.example.org/blog/*", {2, 3, 4, 5}),
        ("*/blog/*", {2, 3, 4, 5, 6}),
        ("*example.org", {0, 1, 2, 3, 4, 5, 6, 7}),
        ("http://*", {0, 10, 11, 12}),
        ("bücher.example", {9}),
        ("https://bücher.example/a.b+c(d)*", {9}),
        ("https://bücher.example/a.b*d", set()),
        ("127.0.0.1", {10, 11, 12}),
        ("127.0.0.1:8080", {10, 11}),
        ("http://127.0.0.1:8080/p1", {10}),
        ("*", set(range(len(URLS)))),
        ("other.org", set()),
    ],
)
def test_what_a_pattern_means(text: str, places: set[int]) -> None:
    assert meant(text) == places


def test_a_page_is_meant_in_its_normal_form_too() -> None:
    pattern = parse_pattern("https://WWW.a.org/x", lambda url: "https://a.org/x")
    assert pattern.matches("https://a.org/x", "a.org")
    assert pattern.matches("https://WWW.a.org/x", "www.a.org")
    assert pattern.host == "", "it may be in either host's bucket"
    assert not pattern.matches("https://a.org/xy", "a.org")


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "http://", "https:///x", "user:secret@host", "[::1", "*."]
)
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no host, URL or pattern: give one such as example"):
        parse_pattern(text)


@example("http://h.org/.", "http://h.org/")
@given(
    st.text("ab*/.?+()[]{}^$|\\-~#&é ", max_size=9).map(lambda tail: f"http://h.org/{tail}"),
    st.text("ab*/.?+()[]{}^$|\\-~#&é ", max_size=9).map(lambda tail: f"http://h.org/{tail}"),
)
def test_a_star_is_all_that_is_special_and_arrow_agrees(text: str, url: str) -> None:
    if any(character.isspace() for character in text):
        return
    pattern = parse_pattern(text)
    # a page is meant in its normal form, too
    spelt = {text} if "*" in text else {text, str(parse(text) or text)}
    regexes = (".*".join(map(re.escape, each.split("*"))) for each in spelt)
    expected = any(re.fullmatch(regex, url) is not None for regex in regexes)
    assert pattern.matches(url, "h.org") == expected
    (found,) = pc.match_substring_regex(pa.array([url]), pattern.url_regex).to_pylist()
    assert found == expected


@pytest.mark.parametrize("status", [each for each in Status if each.is_db])
@pytest.mark.parametrize("is_due", [False, True])
@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("with_gone", [False, True])
def test_what_becomes_of_a_record(
    status: Status, is_due: bool, is_listed: bool, with_gone: bool
) -> None:
    found = refresh_outcome(status, is_due=is_due, is_listed=is_listed, with_gone=with_gone)
    if status is Status.DB_GONE and not with_gone:
        assert found is RefreshOutcome.GONE
    elif is_listed:
        assert found is RefreshOutcome.ON_FETCH_LIST
    else:
        assert found is (RefreshOutcome.ALREADY_DUE if is_due else RefreshOutcome.MADE_DUE)
