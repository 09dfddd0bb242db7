from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.model.parse import ParseStatus
from crawl.parsing.text.plain import facts, invalid, one_line, storable

any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_whatever_it_is_a_column_can_hold_it(text: str) -> None:
    kept = storable(text)
    assert len(kept) == len(text)
    assert "\0" not in kept
    assert kept.encode("utf-8").decode("utf-8") == kept


@given(any_text, st.integers(1, 50))
def test_one_line_is_one_and_not_longer(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert line == " ".join(line.split())


def test_facts_without_a_word_are_left_out() -> None:
    values = {"a": None, "b": "", "c": " \n ", "d": 3, "e": "x\ny"}
    assert facts(values) == {"d": "3", "e": "x y"}


def test_a_failure_has_one_line() -> None:
    failed = invalid("http://a/", "bad\nthing " + "x" * 999)
    assert failed.status is ParseStatus.INVALID_FORMAT
    assert failed.message.startswith("bad thing xxx") and len(failed.message) == 300
