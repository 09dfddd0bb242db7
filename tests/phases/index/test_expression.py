"""Conditions that route documents."""

from __future__ import annotations

from typing import Any

import pytest

from crawl.errors import ConfigError
from crawl.phases.index.tasks.expression import Expression

FIELDS: dict[str, Any] = {
    "lang": "de",
    "boost": 2.5,
    "type": ["text/html", "html"],
    "n": 3,
    "x": "a'b",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lang = 'de'", True),
        ("lang != 'de'", False),
        ("lang <> 'fr' AND boost > 2", True),
        ("type = 'html' and n in (1, 3)", True),
        ("type not in ('text/html')", False),
        ("lang LIKE 'd_' OR missing = 1", True),
        ("x = 'a''b'", True),
        ("missing = 1", False),
        ("NOT missing = 1", False),
        ("missing IS NULL AND lang IS NOT NULL", True),
        ("n BETWEEN 1 AND 3", True),
        ("NOT (n < 3 OR n > 3)", True),
        ("\"lang\" LIKE '%e%'", True),
        ("lang LIKE '%f%'", False),
        ("type LIKE 'text/%'", True),
    ],
)
def test_conditions(text: str, expected: bool) -> None:
    assert Expression.read(text, "test").matcher()(FIELDS) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "lang", "lang =", "= 1", "lang = 'de", "(n = 1", "n = 1 n = 2", "n NOT 3"),
        *("n = f(1)", "NOT " * 100 + "n = 1", "n = 1 OR " * 5000 + "n = 1", "; drop", "and = 1"),
    ],
)
def test_what_is_no_condition_is_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="is no condition"):
        Expression.read(text, "test")
