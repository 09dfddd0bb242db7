from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.html.links import (
    FOLLOWED_SCHEMES,
    AbsoluteLinks,
    is_document,
    link_references,
    may_lead_elsewhere,
    rel_of,
    srcset,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        (" , ,", []),
        ("a", ["a"]),
        ("a 1x, b 2x", ["a", "b"]),
        ("a 1x,b 2x", ["a", "b"]),
        ("a, b", ["a", "b"]),
        ("a,b", ["a,b"]),
        ("a,,, b", ["a", "b"]),
        ("a calc(1px, 2px), b", ["a", "b"]),
        ("a calc(1px, 2px", ["a"]),
        ("data:image/png;base64,AA== 1x, /b 2x", ["data:image/png;base64,AA==", "/b"]),
        ("\n a\n 100w,\t b", ["a", "b"]),
    ],
)
def test_srcset(value: str, expected: list[str]) -> None:
    assert list(srcset(value)) == expected


def test_srcset_is_bounded() -> None:
    assert len(list(srcset("a 1x, " * 100_000))) == 50
    assert list(srcset("," * 1_000_000)) == []
    assert list(srcset("a " + "(" * 1_000_000)) == ["a"]


def test_references() -> None:
    assert link_references("img", {"src": "a", "srcset": "b 1x, data:x 2x", "href": "no"}) == [
        "a",
        "b",
    ]
    assert link_references("a", {"href": None}) == link_references("a", {"href": "#"}) == []


@pytest.mark.parametrize("reference", ["x", "/x", "?x", "#!x", "http:x", "javascript", "datax:"])
def test_useful(reference: str) -> None:
    assert may_lead_elsewhere(reference)


@pytest.mark.parametrize("reference", ["", " ", "#", " #x", "\tMAILTO:x", "data:", "tel:1"])
def test_useless(reference: str) -> None:
    assert not may_lead_elsewhere(reference)


def test_rel() -> None:
    assert rel_of({"rel": " No  FOLLOW\n"}) == "no follow"
    assert rel_of({"rel": None}) == rel_of({}) == ""
    assert len(rel_of({"rel": "x " * 100_000})) <= 200
    assert is_document("alternate stylesheet") and is_document("")
    assert not is_document("x preconnect")


def test_a_base_that_is_no_url_leads_nowhere() -> None:
    assert AbsoluteLinks("nonsense")["/x"] == ""
    assert AbsoluteLinks("nonsense")["http://a.com"] == ""


@given(st.text())
def test_absolute_or_nowhere(reference: str) -> None:
    absolute = AbsoluteLinks("http://example.com/a/b")
    found = absolute[reference]
    assert found == "" or found.startswith(FOLLOWED_SCHEMES)
    assert absolute[reference] is found
    assert isinstance(list(srcset(reference)), list)
