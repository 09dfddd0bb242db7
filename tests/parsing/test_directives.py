from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.directives import (
    canonical_of_link_header,
    directives_of_header,
    directives_of_meta,
    is_for_us,
)

BASE = "http://example.com/a/b"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([("robots", "noindex, nofollow")], {"noindex", "nofollow"}),
        ([("ROBOTS", " NoIndex ")], {"noindex"}),
        ([("robots", "none")], {"noindex", "nofollow"}),
        ([("robots", "index,follow,all")], set()),
        ([("robots", "noindex nofollow")], {"noindex", "nofollow"}),
        ([("robots", "nocache")], {"noarchive"}),
        ([("robots", "noarchive"), ("mybot", "noindex")], {"noarchive", "noindex"}),
        ([("otherbot", "noindex")], set()),
        ([("", "noindex")], set()),
        ([("robots", "max-snippet:20, noindex")], {"max-snippet:20", "noindex"}),
        (
            [("robots", "unavailable_after: Wed, 25-Jun-2031, noindex")],
            {"unavailable_after: wed, 25-jun-2031", "noindex"},
        ),
    ],
)
def test_meta_tags(tags: list[tuple[str, str]], expected: set[str]) -> None:
    assert directives_of_meta(tags, "MyBot/1.0") == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("noindex", {"noindex"}),
        ("none", {"noindex", "nofollow"}),
        ("MYBOT: noindex, nofollow", {"noindex", "nofollow"}),
        ("otherbot: noindex, nofollow", set()),
        ("noarchive, otherbot: noindex, mybot: nosnippet", {"noarchive", "nosnippet"}),
        ("otherbot: noindex\nnofollow", {"nofollow"}),
        ("otherbot: unavailable_after: 1 Jan 2031, noindex", set()),
        ("max-image-preview: large", {"max-image-preview: large"}),
        ("", set()),
        (",,:,", set()),
    ],
)
def test_header(values: str, expected: set[str]) -> None:
    assert directives_of_header(values, "mybot") == expected


def test_a_robot_without_a_name_is_still_a_robot() -> None:
    assert is_for_us("robots", "")
    assert not is_for_us("googlebot", "")
    assert not is_for_us("", "")


def test_no_flood_of_directives() -> None:
    flood = directives_of_header(", ".join(f"x{n}" for n in range(9000)), "mybot")
    assert len(flood) == 32
    assert all(len(each) <= 100 for each in directives_of_header("x" * 9000, "mybot"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('<http://example.com/c>; rel="canonical"', "http://example.com/c"),
        ("</c>;rel=canonical", "http://example.com/c"),
        ("<c> ; REL = Canonical", "http://example.com/a/c"),
        ('<x,y;z>; title="a, <b>; rel=canonical"; rel="alternate canonical"', BASE[:-1] + "x,y;z"),
        ('</n>; rel="next", </c>; rel="canonical"', "http://example.com/c"),
        ('</n>; rel="next"', ""),
        ("<javascript:x>; rel=canonical", ""),
        ("<http://[>; rel=canonical", ""),
        ("rel=canonical", ""),
        ("<" * 5000, ""),
        ("</c>" + ";x" * 4000, ""),
    ],
)
def test_canonical_of_a_link_header(value: str, expected: str) -> None:
    assert canonical_of_link_header(value, BASE) == expected


@given(st.text(), st.text(max_size=20))
def test_any_text_is_answered(text: str, agent: str) -> None:
    assert all(isinstance(each, str) and each for each in directives_of_header(text, agent))
    assert directives_of_meta([(agent, text)], agent) >= frozenset()
    assert isinstance(canonical_of_link_header(text, BASE), str)
