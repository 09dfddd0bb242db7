"""Dates as people and programs write them, in the writing of RFC 3339."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_DATE = 100
_TIME = (
    r"(?:[T\s,]*\s*(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?(?:\s*(?P<half>[ap])\.?m\b\.?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?"
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_FORMS = tuple(
    re.compile(form + _TIME, re.I | re.ASCII)
    for form in (
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})",
        _WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?[\s-]+(?:of\s+)?" + _MONTH
        + r"\.?,?[\s-]+(?P<year>\d{4})",
        _WEEKDAY + _MONTH + r"\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})",
    )
)  # fmt: skip
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?", re.A)
_HALF_OF_DAY = re.compile(r"\d\s*[ap]\.?m\b", re.I | re.ASCII)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)(.*)", re.ASCII | re.S)
_YEAR_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)
_EPOCH = re.compile(r"(\d{10})(?:\d{3})?", re.ASCII)


def normalized_date(text: str) -> str | None:
    """The date that the text is, as RFC 3339 writes it; None where it is none, or not certain."""
    text = " ".join(text[: LONGEST_DATE + 1].split())
    if not text or len(text) > LONGEST_DATE:
        return None
    if match := _SLASHES.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        if first == second or second > 12:
            text = f"{match[3]}-{first}-{second}{match[4]}"
        elif first > 12:
            text = f"{match[3]}-{second}-{first}{match[4]}"
        else:
            return None
    if match := _COMPACT.fullmatch(text):
        year, month, day, hour, minute, second_text, zone = match.groups()
        text = f"{year}-{month}-{day}T{hour}:{minute}:{second_text or '00'}{zone or ''}"
    for form in _FORMS:
        if match := form.fullmatch(text):
            return _written(match.groupdict())
    if match := _YEAR_MONTH.fullmatch(text):
        return text
    if match := _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(match[1]), UTC).isoformat()
    if _HALF_OF_DAY.search(text):
        return None  # which the standard library would not see
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return parsedate_to_datetime(text).isoformat()
    return None


def _written(parts: Mapping[str, str | None]) -> str | None:
    name = parts.get("name")
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(parts["month"] or 0)
    hour, half = parts["hour"], parts["half"]
    if hour and half:
        if not 1 <= int(hour) <= 12:
            return None
        hour = str(int(hour) % 12 + (12 if half in "pP" else 0))
    try:
        moment = datetime(
            int(parts["year"] or 0),
            month,
            int(parts["day"] or 0),
            int(hour or 0),
            int(parts["minute"] or 0),
            min(59, int(parts["second"] or 0)),  # a leap second
            tzinfo=UTC,  # for want of another: its name is put behind, where the text has one
        )
    except ValueError:
        return None
    if hour is None:
        return moment.date().isoformat()
    return moment.replace(tzinfo=None).isoformat() + _zone(parts["zone"])


def _zone(text: str | None) -> str:
    if text is None:
        return ""
    if text[0] not in "+-":
        return "+00:00"
    return f"{text[:3]}:{text[3:].lstrip(':') or '00'}"
