from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.urls.inline_flags import scope_flags
from tests.examples import scaled


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("/((?i)index|default)", "/((?i:index)|(?i:default))"),
        ("a(?i)b|c", "a(?i:b)|(?i:c)"),
        ("(a(?i)b|c)d", "(a(?i:b)|(?i:c))d"),
        ("a(?i)b(?-i)c", "a(?i:b(?-i:c))"),
        ("a(?i-s)b", "a(?i-s:b)"),
        ("a(?iu)b", "a(?i:b)"),
        ("a(?d)b", "a(?:b)"),
        ("a(?i)(b|(?s)c)", "a(?i:(b|(?s:c)))"),
        # nothing to do
        ("(?i)a|b", "(?i)a|b"),
        ("a(?i:b)c", "a(?i:b)c"),
        (r"a\(?i)b", r"a\(?i)b"),
        ("[(?i)]b", "[(?i)]b"),
        ("[](?i)]b", "[](?i)]b"),
        (r"[\](?i)]b", r"[\](?i)]b"),
        ("(?<!:)/{2,}", "(?<!:)/{2,}"),
        (")|", ")|"),
    ],
)
def test_flags_hold_to_the_end_of_their_group(java: str, python: str) -> None:
    assert scope_flags(java) == python


PIECES = st.lists(st.sampled_from(["a", "B", "(", ")", "|", "(?:", "[(|]", r"\(", "x*"]))


@given(PIECES)
@settings(max_examples=scaled(200))
def test_an_expression_without_flags_stays_as_it_is(pieces: list[str]) -> None:
    assert scope_flags("".join(pieces)) == "".join(pieces)


@given(PIECES, PIECES)
@settings(max_examples=scaled(300))
def test_what_was_an_expression_still_is_one(before: list[str], after: list[str]) -> None:
    """And has the same groups: a replacement names them by number."""
    plain = "".join([*before, *after])
    try:
        groups = re.compile(plain).groups
    except re.error:
        return
    flagged = "".join([*before, "(?i)", *after])
    if flagged.startswith("(?i)") or (after and after[0] == "x*"):
        return
    try:
        assert re.compile(scope_flags(flagged)).groups == groups
    except re.error as error:
        assert "nothing to repeat" in str(error)
