"""Texts, addresses and the card as a whole within their bounds; what is left out is counted."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from crawl.parsing.card.card import (
    MAX_CARD,
    MAX_NAMES,
    MAX_PART,
    MAX_URL,
    MAX_VALUE,
    MAX_VALUES,
    Card,
    to_json,
)
from crawl.parsing.html.links import AbsoluteLinks
from crawl.parsing.text.plain import one_line

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
"""What terminals obey, and those marks of direction that have an end, which a cut may lose."""
_NOT_FOR_PEOPLE = re.compile(r"\s*+(?:javascript|vbscript|data|blob|file):", re.I)
_WEB = ("http://", "https://")
_LONGEST_NUMBER = 12
_LARGEST_PICTURE = 100_000
_NUMBER = re.compile(r"\s*+(\d{1,6})(?:\.\d*+)?+\s*+(?:px)?+\s*+", re.I | re.A)

_OPTIONAL_PARTS = ("json_ld", "open_graph", "twitter", "icons", "feeds", "oembed")
"""Those that go where the whole is too long, the first first. The rest is within MAX_CARD by its
own bounds."""


class LeftOut(dict[str, int]):
    """Counts by reason. Reasons are our own words, so that there are few."""

    def count(self, reason: str, by: int = 1) -> None:
        if by > 0:
            self[reason] = self.get(reason, 0) + by


def line(text: str | None, most: int) -> str:
    """The text on one line, without control characters, cut after so many characters."""
    if not text:
        return ""
    shown = one_line(text, most)
    if not shown.isprintable():
        shown = " ".join(_CONTROLS.sub("", shown).split())
    return shown


def pixels(value: object) -> int | None:
    """A length as pages state it: `1200`, `"1200px"`; None for a share, and for what cannot be."""
    if isinstance(value, dict):
        value = value.get("value", value.get("@value"))
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value[: _LONGEST_NUMBER + 1])
        value = int(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value <= _LARGEST_PICTURE else None


class Addresses:
    """Makes the page's references absolute; empty for those that are no web address, or too long,
    for a part of an address is another one. Each of these is counted by the field it is for."""

    def __init__(self, absolute: AbsoluteLinks, left_out: LeftOut) -> None:
        self._absolute = absolute
        self._left_out = left_out

    def __call__(self, reference: str | None, field: str) -> str:
        if not reference or not (reference := reference.strip()):
            return ""
        if len(reference) <= 2 * MAX_URL:
            url = self._absolute[reference]
            if url.startswith(_WEB) and len(url) <= MAX_URL:
                return url
        self._left_out.count(f"{field}.address")
        return ""


def listed(
    named: Iterable[tuple[str, str]],
    addresses: Addresses,
    address_names: frozenset[str],
    left_out: LeftOut,
    part: str,
) -> dict[str, tuple[str, ...]]:
    """Names and values of one vocabulary, bounded. Those that are addresses are made absolute;
    scripts are left out wherever they stand."""
    values: dict[str, list[str]] = {}
    room = MAX_PART
    for name, text in named:
        is_new = name not in values
        if (is_new and len(values) >= MAX_NAMES) or (
            not is_new and len(values[name]) >= MAX_VALUES
        ):
            left_out.count(f"{part}.limit")
            continue
        if name in address_names:
            value = addresses(text, part)
        elif _NOT_FOR_PEOPLE.match(text):
            left_out.count(f"{part}.address")
            continue
        else:
            value = line(text, MAX_VALUE)
        if not value:
            continue
        if len(value) + len(name) > room:
            left_out.count(f"{part}.limit")
            continue
        room -= len(value) + len(name)
        values.setdefault(name, []).append(value)
    return {name: tuple(each) for name, each in values.items()}


def bounded(card: Card) -> Card:
    """The card within MAX_CARD: parts that can be done without are left out as a whole."""
    for part in _OPTIONAL_PARTS:
        if len(to_json(card)) <= MAX_CARD:
            break
        if getattr(card, part):
            empty: object = {} if isinstance(getattr(card, part), dict) else ()
            reasons = {**card.left_out, f"{part}.size": 1}
            card = msgspec.structs.replace(card, **{part: empty, "left_out": reasons})
    return card
