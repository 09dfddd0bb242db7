from __future__ import annotations

import re

import pytest

from crawl.plugins.urlnormalizer.substitution import Substitution


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "expected"),
    [
        ("(a)(b)?c", "$1-$2", "ac", "a-"),
        ("(a)", r"\$1\\", "a", "$1\\"),
        ("(a)", "$12", "a", "a2"),
        ("(?P<x>a)b", "${x}", "ab", "a"),
        ("a.c", "$0!", "a-c", "a-c!"),
        ("b", "", "abba", "aa"),
    ],
)
def test_replacements_are_javas(pattern: str, replacement: str, text: str, expected: str) -> None:
    assert Substitution.of(re.compile(pattern), replacement).apply(text) == expected


@pytest.mark.parametrize("replacement", ["$1", "${x}", "a$", "a\\"])
def test_a_group_that_is_not_there(replacement: str) -> None:
    with pytest.raises(ValueError, match=r"no group|must be followed"):
        Substitution.of(re.compile("a"), replacement)
