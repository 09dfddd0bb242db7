"""What a field's value may be: how it is read from a page's text, written as text for the metadata
of a parse, and typed in a column.

A text that could be meant in two ways is not converted: `12,50` is no number where the decimal mark
is a point, and `01/02/2026` is two dates.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache

import pyarrow as pa

from crawl.model.table import TIMESTAMP
from crawl.parsing.text.dates import normalized_date

FieldValue = str | float | int | bool | date | datetime

_LONGEST = 200
"""Characters of a text that is to be a number or a date."""
_YES = frozenset(("true", "yes", "on", "1"))
_NO = frozenset(("false", "no", "off", "0"))
_GROUPS = "'’\u00a0\u202f\u2009 "
_UNCERTAIN = re.compile(r"(?:^|[^\w])[.,]$")
"""Before a number: it may be the end of a sentence, or belong to the number."""
_LARGEST_INTEGER = 2**63 - 1


class FieldKind(StrEnum):
    """The kinds by the names that rules use."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    URL = "url"


_ARROW: dict[FieldKind, pa.DataType] = {
    FieldKind.TEXT: pa.string(),
    FieldKind.NUMBER: pa.float64(),
    FieldKind.INTEGER: pa.int64(),
    FieldKind.BOOLEAN: pa.bool_(),
    FieldKind.DATE: pa.date32(),
    FieldKind.DATETIME: TIMESTAMP,
    FieldKind.URL: pa.string(),
}


def arrow_type(kind: FieldKind, *, is_list: bool) -> pa.DataType:
    """The type of a column of such values."""
    return pa.list_(_ARROW[kind]) if is_list else _ARROW[kind]


def convert(text: str, kind: FieldKind, *, decimal: str = ".", form: str = "") -> FieldValue | None:
    """The value that a page's text stands for; None where it is no such thing, or not certain.
    `form` is a date's, as strptime reads it. A URL must be absolute already."""
    if kind in (FieldKind.TEXT, FieldKind.URL):
        return text or None
    text = " ".join(text[: 4 * _LONGEST].split())
    if not text or len(text) > _LONGEST:
        return None
    if kind is FieldKind.BOOLEAN:
        word = text.lower()
        return True if word in _YES else False if word in _NO else None
    if kind is FieldKind.NUMBER:
        return _number(text, decimal)
    if kind is FieldKind.INTEGER:
        return _integer(text, decimal)
    moment = _moment(text, form)
    if moment is None or kind is FieldKind.DATETIME:
        return moment
    return moment.date()


def as_text(value: FieldValue) -> str:
    """The value as metadata keep it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def from_text(text: str, kind: FieldKind) -> FieldValue | None:
    """What `as_text` has written; None where it is no value of this kind."""
    try:
        match kind:
            case FieldKind.NUMBER:
                number = float(text)
                return number if math.isfinite(number) else None
            case FieldKind.INTEGER:
                whole = int(text)
                return whole if abs(whole) <= _LARGEST_INTEGER else None
            case FieldKind.BOOLEAN:
                return {"true": True, "false": False}.get(text)
            case FieldKind.DATE:
                return date.fromisoformat(text)
            case FieldKind.DATETIME:
                moment = datetime.fromisoformat(text)
                return moment if moment.tzinfo else None
            case _:
                return text
    except ValueError:
        return None


@lru_cache
def _numbers(decimal: str) -> re.Pattern[str]:
    groups = "[" + _GROUPS + ("," if decimal == "." else ".") + "]"
    mark = re.escape(decimal)
    whole = rf"(?:\d{{1,3}}(?:{groups}\d{{3}})++(?!\d)|\d++)(?:{mark}\d++)?"
    return re.compile(
        rf"(?:(?P<sign>[-+−])(?:[A-Z]{{0,3}}[$€£¥₹] ?|[A-Z]{{3}} ?)?)?"
        rf"(?P<number>(?:{whole}|(?<![\w.,]){mark}\d++)(?:[eE][-+]?\d{{1,3}})?)",
        re.ASCII,
    )


def _number(text: str, decimal: str) -> float | None:
    written = _written_number(text, decimal)
    if written is None:
        return None
    number = float(written)
    return number if math.isfinite(number) else None


def _integer(text: str, decimal: str) -> int | None:
    written = _written_number(text, decimal)
    if written is None or not written.lstrip("+-").isdigit():
        return None
    whole = int(written)
    return whole if abs(whole) <= _LARGEST_INTEGER else None


def _written_number(text: str, decimal: str) -> str | None:
    """The one number that the text has, as Python writes it; None where there are none or two, or
    where what stands before it is a sign as likely as none: `SKU-17`, `.5` for a decimal comma."""
    matches = list(_numbers(decimal).finditer(text))
    if len(matches) != 1 or _UNCERTAIN.search(text[: matches[0].start()]):
        return None
    sign, plain = matches[0]["sign"] or "", matches[0]["number"]
    if sign and text[: matches[0].start()][-1:].isalnum():
        return None
    for mark in (*_GROUPS, "," if decimal == "." else "."):
        plain = plain.replace(mark, "")
    return sign.replace("−", "-") + str(plain.replace(decimal, "."))


def _moment(text: str, form: str) -> datetime | None:
    try:
        if form:
            moment = datetime.strptime(text, form)  # noqa: DTZ007 (UTC below, for want of a zone)
        else:
            written = normalized_date(text)
            if written is None or len(written) < len("2026-11-18"):
                return None
            moment = datetime.fromisoformat(written)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
