from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.fields.kinds import FieldKind, as_text, convert, from_text


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("$1,299.00", 1299.0, None),
        ("12,50 €", None, 12.5),
        ("1 299", 1299.0, 1299.0),
        ("−3", -3.0, -3.0),
        ("1'000'000.5", 1000000.5, None),
        ("1.299", 1.299, 1299.0),
        ("3 of 12", None, None),
        ("none", None, None),
        (".5", 0.5, None),
        ("-$.50", -0.5, None),
        ("-$5", -5.0, -5.0),
        ("−EUR 1.299", -1.299, -1299.0),
        ("Price - $5", 5.0, 5.0),
        ("SKU-17", None, None),
        ("1e999", None, None),
        ("٣", None, None),
    ],
)
def test_a_text_with_one_number(text: str, point: float | None, comma: float | None) -> None:
    assert convert(text, FieldKind.NUMBER) == point
    assert convert(text, FieldKind.NUMBER, decimal=",") == comma


@pytest.mark.parametrize(
    ("text", "form", "day"),
    [
        ("18 November 2026", "", date(2026, 11, 18)),
        ("2026-11-18T23:00:00Z", "", date(2026, 11, 18)),
        ("01/02/2026", "", None),
        ("01/02/2026", "%d/%m/%Y", date(2026, 2, 1)),
        ("2026-11", "", None),
        ("soon", "%d/%m/%Y", None),
    ],
)
def test_a_text_that_is_a_date(text: str, form: str, day: date | None) -> None:
    assert convert(text, FieldKind.DATE, form=form) == day


def test_other_kinds() -> None:
    assert convert("1,024", FieldKind.INTEGER) == 1024
    assert convert("1.5", FieldKind.INTEGER) is None
    assert convert("9" * 30, FieldKind.INTEGER) is None
    assert convert("Yes", FieldKind.BOOLEAN) is True
    assert convert("off", FieldKind.BOOLEAN) is False
    assert convert("perhaps", FieldKind.BOOLEAN) is None
    assert convert("2026-11-18 10:30", FieldKind.DATETIME) == datetime(
        2026, 11, 18, 10, 30, tzinfo=UTC
    )


@given(st.text(max_size=300), st.sampled_from(FieldKind), st.sampled_from([".", ","]))
def test_what_is_converted_is_read_back_as_it_was(text: str, kind: FieldKind, mark: str) -> None:
    value = convert(text, kind, decimal=mark)
    assert value is None or from_text(as_text(value), kind) == value
