"""When a page was published and last changed, as it says itself, in the writing of RFC 3339.

Asked in the order of how much each can be believed: JSON-LD, meta tags, marked elements of the
page, then a date in its address, which is one of publication. What cannot be read as one certain
date is passed over, and the next is asked: `01/02/2026` is two dates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from crawl.html.tags_around import places_of, tags_around
from crawl.parsing.text.dates import LONGEST_DATE, normalized_date


@dataclass(frozen=True, slots=True)
class _Kind:
    """How pages write one kind of date; of each the best first."""

    json_keys: tuple[str, ...]
    meta_names: tuple[str, ...]
    item_property: str
    classes: frozenset[str]
    """Of a `time` element."""
    attribute: str
    """Of a `time` element; empty for none."""
    words: tuple[bytes, ...]
    """One of which stands in every element that is marked so."""


_PUBLISHED = _Kind(
    json_keys=("datePublished", "dateCreated", "uploadDate"),
    meta_names=(
        *("article:published_time", "og:article:published_time", "article:published"),
        *("og:published_time", "og:pubdate", "datepublished", "dc.date.issued", "dcterms.issued"),
        *("citation_publication_date", "citation_online_date", "parsely-pub-date"),
        *("sailthru.date", "pubdate", "publishdate", "publish-date", "publish_date"),
        *("published-date", "dc.date.created", "dcterms.created", "dc.date", "dcterms.date"),
        "date",
    ),
    item_property="datepublished",
    classes=frozenset(("entry-date", "published", "post-date", "dt-published", "pubdate")),
    attribute="pubdate",
    words=(b"datepublished", b"pubdate", b"entry-date", b"published", b"post-date"),
)
_MODIFIED = _Kind(
    json_keys=("dateModified",),
    meta_names=(
        *("article:modified_time", "og:article:modified_time", "article:modified"),
        *("og:updated_time", "og:modified_time", "article:updated_time", "article:updated"),
        *("dcterms.modified", "dc.date.modified", "dc.modified", "last-modified", "revised"),
    ),
    item_property="datemodified",
    classes=frozenset(("updated", "modified", "dt-updated")),
    attribute="",
    words=(b"modified", b"dt-updated", b'"updated', b"'updated", b" updated", b"=updated"),
)
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
    return _first(_stated(_PUBLISHED, metadata, markup, url), fetched_ms)


def modified_of(metadata: Mapping[str, str], markup: bytes, fetched_ms: int) -> str | None:
    """When the page was last changed, by the same rules and in the same writing."""
    return _first(_stated(_MODIFIED, metadata, markup, ""), fetched_ms)


def _first(texts: Iterable[str], fetched_ms: int) -> str | None:
    latest = datetime.fromtimestamp(fetched_ms / 1000, UTC) + timedelta(days=2)
    for text in texts:
        moment = normalized_date(text)
        if moment and str(_EARLIEST_YEAR) <= moment <= latest.isoformat():
            return moment
    return None


def _stated(kind: _Kind, metadata: Mapping[str, str], markup: bytes, url: str) -> Iterator[str]:
    yield from _json_dates(metadata.get("json-ld", ""), kind.json_keys)
    for name in kind.meta_names:
        if value := metadata.get(name):
            yield value
    yield from _marked_dates(markup, kind)
    if match := _IN_PATH.search(url):
        yield "-".join(match.groups())


def _json_dates(text: str, keys: tuple[str, ...]) -> Iterator[str]:
    """Of the objects as they stand in the page: those of the page itself come before those that
    they hold. What readers say, and other pages that are listed, have dates of their own."""
    if not any(key in text for key in keys):
        return
    with suppress(ValueError, RecursionError):
        things = [json.loads(text)]
        dates: dict[str, list[str]] = {key: [] for key in keys}
        for thing in things:  # grows
            inner: Iterable[object] = thing
            if isinstance(thing, dict):
                if thing.get("@type") in _JSON_OTHER_TYPES:
                    continue
                for key in keys:
                    dates[key].extend(_json_texts(thing.get(key)))
                inner = (each for key, each in thing.items() if key not in _JSON_OTHERS)
            if len(things) < _MAX_OBJECTS:
                things.extend(each for each in inner if isinstance(each, dict | list))
        for key in keys:
            yield from dates[key][:_MAX_DATES]


def _json_texts(value: object) -> Iterator[str]:
    """The texts of a value, which may be a list, a number, or an object that tells its type."""
    for each in value[:_MAX_DATES] if isinstance(value, list) else (value,):
        text = each.get("@value") if isinstance(each, dict) else each
        if isinstance(text, str):
            yield text
        elif isinstance(text, int):
            yield str(text)


_TAG_START = re.compile(rb"<(time|span|abbr|meta|p|div)[\s/]", re.I)


def _marked_dates(markup: bytes, kind: _Kind) -> Iterator[str]:
    """Of `<time pubdate datetime=…>`, of elements with the itemprop datePublished, and of `time`
    elements whose class says so."""
    places = places_of(markup, kind.words)
    for tag, attributes, end in tags_around(markup, places, _TAG_START, is_each_once=False):
        names = (attributes.get("itemprop") or "").lower().split()
        classes = (attributes.get("class") or "").lower().split()
        if kind.item_property in names or (
            tag == b"time"
            and (kind.attribute in attributes or not kind.classes.isdisjoint(classes))
        ):
            yield attributes.get("datetime") or attributes.get("content") or _text(markup, end)


def _text(markup: bytes, end: int) -> str:
    """What stands between a tag that ends there and the next one."""
    return markup[end + 1 : end + 1 + LONGEST_DATE].partition(b"<")[0].decode("utf-8", "replace")


_IN_PATH = re.compile(r"/((?:19|20)\d\d)[/-](0[1-9]|1[0-2])[/-](0[1-9]|[12]\d|3[01])(?![0-9])")
