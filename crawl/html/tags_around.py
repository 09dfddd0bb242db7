"""The tags of a page in which certain words stand, found without reading the rest of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from crawl.html.tokens import attributes_of

MAX_LOOKS = 200
"""At places where a word stands."""
_FURTHEST = 2_000
"""Bytes between the beginning of a tag and the word."""


def tags_around(
    markup: bytes,
    places: Iterable[tuple[int, int]],
    tag_start: re.Pattern[bytes],
    *,
    is_each_once: bool,
) -> Iterator[tuple[bytes, dict[str, str | None], int]]:
    """The tags in which a word stands, with their attributes, and where they end. The markup is
    looked at around the places of the words alone, for they are rare."""
    behind = 0
    for first, last in islice(places, MAX_LOOKS):
        start = markup.rfind(b"<", max(behind, first - _FURTHEST), first)
        tag = tag_start.match(markup, start) if start >= 0 else None
        end = markup.find(b">", last, last + _FURTHEST) if tag else -1
        if tag is not None and end >= 0:
            behind = end if is_each_once else 0
            attributes = attributes_of(markup[tag.end() : end].decode("utf-8", "replace"))
            yield tag[1].lower(), attributes, end


def places_of(markup: bytes, words: Iterable[bytes]) -> list[tuple[int, int]]:
    """Where the words stand, in the order of the page, in any case of ASCII letters. They are
    searched for one by one: a pattern of alternatives takes ten times as long."""
    lowered = markup.lower()
    places: list[tuple[int, int]] = []
    for word in words:
        at = lowered.find(word)
        for _ in range(MAX_LOOKS):
            if at < 0:
                break
            places.append((at, at + len(word)))
            at = lowered.find(word, at + len(word))
    places.sort()
    found: list[tuple[int, int]] = []
    for place in places:
        if not found or place[0] >= found[-1][1]:  # `published` is in `datepublished`, too
            found.append(place)
    return found
