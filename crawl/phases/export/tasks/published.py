"""When a page was published, as it says itself, in the writing of RFC 3339.

Asked in the order of how much each can be believed: JSON-LD, meta tags, marked elements of the
page, then a date in its address. What cannot be read as one certain date is passed over, and the
next is asked: `01/02/2026` is two dates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from crawl.parsing.text.dates import LONGEST_DATE, normalized_date
from crawl.phases.export.tasks.licences import tags_around

_META = (
    *("article:published_time", "og:article:published_time", "article:published"),
    *("og:published_time", "og:pubdate", "datepublished", "dc.date.issued", "dcterms.issued"),
    *("citation_publication_date", "citation_online_date", "parsely-pub-date", "sailthru.date"),
    *("pubdate", "publishdate", "publish-date", "publish_date", "published-date"),
    *("dc.date.created", "dcterms.created", "dc.date", "dcterms.date", "date"),
)
_JSON_KEYS = ("datePublished", "dateCreated", "uploadDate")
_JSON_OTHERS = frozenset(
    (
        *("acceptedAnswer", "blogPost", "citation", "comment", "comments", "image"),
        *("itemListElement", "mentions", "review", "reviews", "suggestedAnswer"),
    )
)
"""Keys of things that have dates of their own."""
_JSON_OTHER_TYPES = ("Answer", "Comment", "UserComments")
_MAX_DATES = 10
"""Of one key that are tried."""
_MAX_OBJECTS = 2_000
_EARLIEST_YEAR = 1600
"""Digitised prints have their own dates; before that, and after tomorrow, it is a mistake."""


def published_of(
    metadata: Mapping[str, str], markup: bytes, url: str, fetched_ms: int
) -> str | None:
    """The page's date: `2026-11-18`, `2026-11`, or with a time, `2026-11-18T09:30:00+01:00`."""
    latest = datetime.fromtimestamp(fetched_ms / 1000, UTC) + timedelta(days=2)
    for text in _stated(metadata, markup, url):
        moment = normalized_date(text)
        if moment and str(_EARLIEST_YEAR) <= moment <= latest.isoformat():
            return moment
    return None


def _stated(metadata: Mapping[str, str], markup: bytes, url: str) -> Iterator[str]:
    yield from _json_dates(metadata.get("json-ld", ""))
    for key in _META:
        if value := metadata.get(key):
            yield value
    yield from _marked_dates(markup)
    if match := _IN_PATH.search(url):
        yield "-".join(match.groups())


def _json_dates(text: str) -> Iterator[str]:
    """Of the objects as they stand in the page: those of the page itself come before those that
    they hold. What readers say, and other pages that are listed, have dates of their own."""
    if '"date' not in text and "uploadDate" not in text:
        return
    with suppress(ValueError, RecursionError):
        things = [json.loads(text)]
        dates: dict[str, list[str]] = {key: [] for key in _JSON_KEYS}
        for thing in things:  # grows
            inner: Iterable[object] = thing
            if isinstance(thing, dict):
                if thing.get("@type") in _JSON_OTHER_TYPES:
                    continue
                for key in _JSON_KEYS:
                    dates[key].extend(_json_texts(thing.get(key)))
                inner = (each for key, each in thing.items() if key not in _JSON_OTHERS)
            if len(things) < _MAX_OBJECTS:
                things.extend(each for each in inner if isinstance(each, dict | list))
        for key in _JSON_KEYS:
            yield from dates[key][:_MAX_DATES]


def _json_texts(value: object) -> Iterator[str]:
    """The texts of a value, which may be a list, a number, or an object that tells its type."""
    for each in value[:_MAX_DATES] if isinstance(value, list) else (value,):
        text = each.get("@value") if isinstance(each, dict) else each
        if isinstance(text, str):
            yield text
        elif isinstance(text, int):
            yield str(text)


_MARK = re.compile(rb"datepublished|pubdate|entry-date|published|post-date", re.I)
_TAG_START = re.compile(rb"<(time|span|abbr|meta|p|div)[\s/]", re.I)
_MARKS = frozenset(("entry-date", "published", "post-date", "dt-published", "pubdate"))


def _marked_dates(markup: bytes) -> Iterator[str]:
    """Of `<time pubdate datetime=…>`, of elements with the itemprop datePublished, and of `time`
    elements whose class says so."""
    for tag, attributes, end in tags_around(markup, _MARK, _TAG_START, is_each_once=False):
        names = (attributes.get("itemprop") or "").lower().split()
        classes = (attributes.get("class") or "").lower().split()
        if "datepublished" in names or (
            tag == b"time" and ("pubdate" in attributes or not _MARKS.isdisjoint(classes))
        ):
            yield attributes.get("datetime") or attributes.get("content") or _text(markup, end)


def _text(markup: bytes, end: int) -> str:
    """What stands between a tag that ends there and the next one."""
    return markup[end + 1 : end + 1 + LONGEST_DATE].partition(b"<")[0].decode("utf-8", "replace")


_IN_PATH = re.compile(r"/((?:19|20)\d\d)[/-](0[1-9]|1[0-2])[/-](0[1-9]|[12]\d|3[01])(?![0-9])")
