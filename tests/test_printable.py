from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.printable import csv_cell, json_text, one_line, printable, printable_lines

ANY = st.text(st.characters(categories=None), max_size=60)
HIDING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def hidden(text: str) -> set[str]:
    return {each for each in text if unicodedata.category(each) in HIDING}


@given(ANY)
def test_nothing_that_hides_or_moves_is_left(text: str) -> None:
    for shown in (printable(text), one_line(text), csv_cell(text), printable(text, 7)):
        assert not hidden(shown)
        shown.encode()
    assert hidden(printable_lines(text)) <= {"\n"}
    assert printable(printable(text)) == printable(text)


@given(st.recursive(ANY | st.integers() | st.none(), lambda inner: st.dictionaries(ANY, inner)))
def test_json_means_the_same(content: object) -> None:
    for indent in (None, 1):
        for ascii_only in (False, True):
            text = json_text(content, indent=indent, ascii_only=ascii_only)
            assert not hidden(text) - {"\n"}
            assert json.loads(text) == content


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 日本 🙂", "plain ünïcode 日本 🙂"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m\x7f\x00", "\\x9b31m\\x7f\\x00"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\u202egnp.exe\u2066\u200f\u061c", "\\u202egnp.exe\\u2066\\u200f\\u061c"),
        ("zero\u200bwidth\ufeff\u2028", "zero\\u200bwidth\\ufeff\\u2028"),
        ("\u3164\u2800\u115f", "\\u3164\\u2800\\u115f"),
        ("\udc80\ue000\U000e0041", "\\udc80\\ue000\\U000e0041"),
    ],
)
def test_escapes_can_be_seen(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_long_text_is_cut_and_says_so() -> None:
    assert printable("x" * 5_000, 3) == "xxx… (5,000 characters)"
    assert printable("xyz", 3) == "xyz"


@given(ANY)
def test_no_csv_cell_is_a_formula(text: str) -> None:
    assert csv_cell(text)[:1] not in ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def test_csv_cells_that_are_none_stay_as_they_are() -> None:
    assert csv_cell("http://h.org/?a=-1") == "http://h.org/?a=-1"
    assert csv_cell("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0"
    assert csv_cell("\t=1") == "'\\t=1"
