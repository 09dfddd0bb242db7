"""The language of queries.

    open data "city council" -budget title:annual host:example.org lang:en since:30d

Words must all be on the page, in whichever field; quoted ones beside each other; those after a
minus sign nowhere. A field's name and a colon before a word restrict it. The text comes from
anybody: it is bounded, and anything that is not understood is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.search.words import plain_form

LONGEST = 1_000
"""Characters of a query."""
MAX_CLAUSES = 32

WORD_FIELDS = {
    "title": ("title",),
    "anchor": ("anchor",),
    "text": ("content", "rest"),
    "content": ("content",),
    "url": ("url",),
    "inurl": ("url",),
    "intitle": ("title",),
}
"""Fields whose words are cut and ranked: name → the schema's kinds."""
FILTER_FIELDS = ("host", "site", "domain", "lang", "type", "since", "until")
EXTRA_PREFIX = "field."
"""Before the name of a field of one's own."""

_CLAUSE = re.compile(
    r"""(?P<minus>-)?(?:(?P<field>[A-Za-z][\w.-]*):(?!//))?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))"""
)
_AGE = re.compile(r"(\d{1,6})\s*(h|d|w|m|y)", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}


@dataclass(frozen=True, slots=True)
class WordClause:
    """A word or a quoted phrase."""

    text: str
    is_phrase: bool = False
    is_excluded: bool = False
    kinds: tuple[str, ...] = ()
    """The kinds of fields that it is restricted to; none: all."""


@dataclass(frozen=True, slots=True)
class FilterClause:
    """A value that a field of the page has as it is."""

    field: str
    value: str
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query by its parts."""

    words: tuple[WordClause, ...]
    filters: tuple[FilterClause, ...]
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def restricts(self) -> bool:
        """Whether anything but words is asked for."""
        return bool(self.filters) or self.since_ms is not None or self.until_ms is not None

    @property
    def language(self) -> str:
        """The one language that is asked for, if one is."""
        asked = {f.value for f in self.filters if f.field == "lang" and not f.is_excluded}
        return asked.pop() if len(asked) == 1 else ""

    @property
    def names_host(self) -> bool:
        """Whether pages of one host are asked for."""
        return any(f.field in ("host", "domain") and not f.is_excluded for f in self.filters)


def parse_query(text: str, now_ms: int) -> ParsedQuery:
    """The parts of a query; raises UsageError for a field that there is not, a date that is
    none, and a query that is too long."""
    if len(text) > LONGEST:
        raise UsageError(
            f"the query has {len(text):,} characters, and {LONGEST:,} at most are read"
        )
    # one character may stand for many, and half of one for nothing
    text = plain_form(text.encode("utf-8", "replace").decode())[:LONGEST]
    words: list[WordClause] = []
    filters: list[FilterClause] = []
    since_ms = until_ms = None
    for match in _CLAUSE.finditer(text):
        field = (match["field"] or "").lower()
        is_phrase = match["phrase"] is not None
        value = match["phrase"] if is_phrase else match["word"]
        excluded = match["minus"] is not None
        if not value.strip():
            _require_value(field)
            continue
        if not field and not is_phrase and value.endswith(":"):
            _require_value(value[:-1].lower())
        if field in ("", *WORD_FIELDS):
            words.append(WordClause(value, is_phrase, excluded, WORD_FIELDS.get(field, ())))
        elif field in ("since", "until"):
            moment = _moment(value, now_ms)
            if (field == "since") is not excluded:
                since_ms = moment + excluded  # not until then is after it
            else:
                until_ms = moment - excluded
        elif field in FILTER_FIELDS:
            name = "domain" if field == "site" else field
            filters.append(FilterClause(name, value.lower(), excluded))
        elif field.startswith(EXTRA_PREFIX) and all(field.split(".")):
            name = match["field"][len(EXTRA_PREFIX) :]
            filters.append(FilterClause(EXTRA_PREFIX + name, value, excluded))
        else:
            fields = [*WORD_FIELDS, *FILTER_FIELDS]
            raise UsageError(
                f"no field {match['field']!r} in a query{did_you_mean(field, fields)};"
                f" one of your own is {EXTRA_PREFIX}{match['field']}, and text is quoted"
            )
        if len(words) + len(filters) > MAX_CLAUSES:
            raise UsageError(f"the query has more than {MAX_CLAUSES} words and fields")
    parsed = ParsedQuery(tuple(words), tuple(filters), since_ms, until_ms)
    if not words and not parsed.restricts:
        raise UsageError("the query is empty")
    return parsed


def searched_words(text: str) -> Iterator[tuple[int, int]]:
    """The places of a query's words: not of those in quotes, after a minus or of other fields."""
    for match in _CLAUSE.finditer(text):
        field = (match["field"] or "").lower()
        if match["word"] and not match["minus"] and (not field or field in WORD_FIELDS):
            yield match.span("word")


def _require_value(field: str) -> None:
    """Raises UsageError for a field that nothing follows: the word that was meant for it
    would be looked for everywhere."""
    if field in (*WORD_FIELDS, *FILTER_FIELDS) or field.startswith(EXTRA_PREFIX):
        raise UsageError(f"{field}: has nothing behind it; a value follows at once: {field}:VALUE")


def _moment(value: str, now_ms: int) -> int:
    """A date, or how long ago, as milliseconds since 1970."""
    age = _AGE.fullmatch(value.strip())
    if age is not None:
        return now_ms - int(age[1]) * _HOURS[age[2].lower()] * 3_600_000
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise UsageError(
            f"{value!r} is no date: 2026-01-31, or how long ago, such as 12h, 30d, 2w, 6m, 1y"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))
