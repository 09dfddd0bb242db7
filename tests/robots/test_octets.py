from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.robots.octets import path_octets, pattern_octets


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        # the table of RFC 9309, 2.2.2
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        # escapes in small letters, and of what is no UTF-8
        ("/%e3%83%84", "/%E3%83%84"),
        ("/%ff%FE", "/%FF%FE"),
        # a delimiter that is escaped is none, except where it never is one
        ("/a%2fb%3Fc", "/a%2Fb%3Fc"),
        ("/a?b%2fc%3Fd%3a%40%26", "/a?b/c?d:@%26"),
        # no escapes
        ("/100%", "/100%"),
        ("/%4", "/%4"),
        ("/%zz%%41", "/%zz%A"),
        # what a URI cannot hold
        ('/a b"<>\\^`{|}\x00\x7f', "/a%20b%22%3C%3E%5C%5E%60%7B%7C%7D%00%7F"),
        ("/it's?it's", "/it%27s?it%27s"),
    ],
)
def test_paths_and_rules_are_spelled_alike(written: str, compared: str) -> None:
    assert path_octets(written) == compared
    assert pattern_octets(written.encode()) == compared


def test_both_spellings_of_a_url_in_a_query_are_one() -> None:
    plain = path_octets("/foo/bar?baz=https://foo.bar")
    assert path_octets("/foo/bar?baz=https%3A%2F%2Ffoo.bar") == plain


def test_special_characters_are_special_in_rules_only() -> None:
    assert path_octets("/a*b$") == "/a%2Ab%24"
    assert pattern_octets(b"/a*b$") == "/a*b$"
    assert pattern_octets(b"/a$b$$") == "/a%24b%24$"
    assert pattern_octets(b"/a%2Ab%24") == "/a%2Ab%24"


def test_octets_of_other_charsets_stay_what_they_are() -> None:
    assert pattern_octets("/café".encode("latin-1")) == "/caf%E9"


@given(st.text(), st.binary())
def test_all_texts_become_printable_ascii(path: str, pattern: bytes) -> None:
    for text in (path_octets(path), pattern_octets(pattern)):
        assert text.isascii()
        assert all("!" <= character <= "~" for character in text)


@given(st.text("/%2fF4aé?*$", max_size=20))
def test_what_is_spelled_stays_so(path: str) -> None:
    once = path_octets(path)
    twice = path_octets(once)
    # undoing an escape can make a new one out of `%%324`: both sides do it alike, once
    assert twice == once or "%%" in path
