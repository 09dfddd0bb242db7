"""When a page was published and last changed, as it says itself, in the writing of RFC 3339.

Asked in the order of how much each can be believed: JSON-LD, meta tags, marked elements of the
page, then a date in its address, which is one of publication. What cannot be read as one certain
date is passed over, and the next is asked: `01/02/2026` is two dates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from crawl.html.tags_around import places_of, tags_around
from crawl.html.tokens import Attributes
from crawl.parsing.text.dates import LONGEST_DATE, normalized_date


class DatedTag(NamedTuple):
    """An element that may be marked with a date."""

    tag: str
    attributes: Attributes
    text: Callable[[], str]
    """What stands in it, up to the next tag."""


DatedTags = Callable[[], Iterable[DatedTag]]
"""Looks for them, which is done only where nothing better tells the date."""


class PageDates(NamedTuple):
    """Both as RFC 3339 writes them; None where the page does not say."""

    published: str | None
    modified: str | None


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
    json_dates = _json_dates(metadata.get("json-ld", ""), _PUBLISHED.json_keys)
    return _first(
        _stated(_PUBLISHED, json_dates, metadata, partial(_tags_in, markup), url), fetched_ms
    )


def page_dates_of(
    metadata: Mapping[str, str], tags: DatedTags, url: str, fetched_ms: int
) -> PageDates:
    """When the page was published and last changed, by the same rules; `tags` are its `time`
    elements and those that have an itemprop, which whoever has its tree need not search for."""
    json_dates = _json_dates(
        metadata.get("json-ld", ""), _PUBLISHED.json_keys + _MODIFIED.json_keys
    )
    return PageDates(
        _first(_stated(_PUBLISHED, json_dates, metadata, tags, url), fetched_ms),
        _first(_stated(_MODIFIED, json_dates, metadata, tags, ""), fetched_ms),
    )


def _first(texts: Iterable[str], fetched_ms: int) -> str | None:
    latest = datetime.fromtimestamp(fetched_ms / 1000, UTC) + timedelta(days=2)
    for text in texts:
        moment = normalized_date(text)
        if moment and str(_EARLIEST_YEAR) <= moment <= latest.isoformat() and not _is_zero(moment):
            return moment
    return None


def _is_zero(moment: str) -> bool:
    """Whether it is the moment at which clocks of computers begin, which programs write for want
    of another."""
    if not moment.startswith(("1970-01-01T", "1969-12-31T")):
        return False
    when = datetime.fromisoformat(moment)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() == 0


def _stated(
    kind: _Kind,
    json_dates: Mapping[str, list[str]],
    metadata: Mapping[str, str],
    tags: DatedTags,
    url: str,
) -> Iterator[str]:
    for key in kind.json_keys:
        yield from json_dates.get(key, ())[:_MAX_DATES]
    for name in kind.meta_names:
        if value := metadata.get(name):
            yield value
    yield from _marked_dates(tags(), kind)
    if match := _IN_PATH.search(url):
        yield "-".join(match.groups())


def _json_dates(text: str, keys: tuple[str, ...]) -> Mapping[str, list[str]]:
    """By key, of the objects as they stand in the page: those of the page itself come before those
    that they hold. What readers say, and other pages that are listed, have dates of their own."""
    dates: dict[str, list[str]] = {}
    if not any(key in text for key in keys):
        return dates
    with suppress(ValueError, RecursionError):
        things = [json.loads(text)]
        for thing in things:  # grows
            inner: Iterable[object] = thing
            if isinstance(thing, dict):
                if thing.get("@type") in _JSON_OTHER_TYPES:
                    continue
                for key in keys:
                    if key in thing:
                        dates.setdefault(key, []).extend(_json_texts(thing[key]))
                inner = (each for key, each in thing.items() if key not in _JSON_OTHERS)
            if len(things) < _MAX_OBJECTS:
                things.extend(each for each in inner if isinstance(each, dict | list))
    return dates


def _json_texts(value: object) -> Iterator[str]:
    """The texts of a value, which may be a list, a number, or an object that tells its type."""
    for each in value[:_MAX_DATES] if isinstance(value, list) else (value,):
        text = each.get("@value") if isinstance(each, dict) else each
        if isinstance(text, str):
            yield text
        elif isinstance(text, int):
            yield str(text)


DATED_TAGS = ("time", "span", "abbr", "meta", "p", "div")
"""Elements whose itemprop may be a date."""
_TAG_START = re.compile(rb"<(time|span|abbr|meta|p|div)[\s/]", re.I)
_PUBLISHED_WORDS = (b"datepublished", b"pubdate", b"entry-date", b"published", b"post-date")
"""One of which stands in every tag that is marked with a date of publication."""


def _marked_dates(tags: Iterable[DatedTag], kind: _Kind) -> Iterator[str]:
    """Of `<time pubdate datetime=…>`, of elements with the itemprop datePublished, and of `time`
    elements whose class says so."""
    for tag, attributes, text in tags:
        names = (attributes.get("itemprop") or "").lower().split()
        classes = (attributes.get("class") or "").lower().split()
        if (kind.item_property in names and tag in DATED_TAGS) or (
            tag == "time" and (kind.attribute in attributes or not kind.classes.isdisjoint(classes))
        ):
            yield attributes.get("datetime") or attributes.get("content") or text()


def _tags_in(markup: bytes) -> Iterator[DatedTag]:
    """The tags of markup that may be marked with a date of publication."""
    places = places_of(markup, _PUBLISHED_WORDS)
    for tag, attributes, end in tags_around(markup, places, _TAG_START, is_each_once=False):
        yield DatedTag(tag.decode(), attributes, partial(_text, markup, end))


def _text(markup: bytes, end: int) -> str:
    """What stands between a tag that ends there and the next one."""
    return markup[end + 1 : end + 1 + LONGEST_DATE].partition(b"<")[0].decode("utf-8", "replace")


_IN_PATH = re.compile(r"/((?:19|20)\d\d)[/-](0[1-9]|1[0-2])[/-](0[1-9]|[12]\d|3[01])(?![0-9])")
