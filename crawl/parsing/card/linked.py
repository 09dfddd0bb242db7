"""Feeds, icons and oEmbed: what a page's link elements lead to, each address once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from crawl.html.tokens import Attributes, names_in
from crawl.parsing.card.bounds import Addresses, LeftOut, line
from crawl.parsing.card.card import (
    MAX_FEEDS,
    MAX_ICONS,
    MAX_NAME,
    MAX_OEMBED,
    CardFeed,
    CardIcon,
    CardOEmbed,
)

_FEED_TYPES = (
    *("application/rss+xml", "application/atom+xml", "application/feed+json"),
    *("application/rdf+xml", "application/json+feed", "application/x-rss+xml"),
)
_OEMBED_FORMATS = {
    "application/json+oembed": "json",
    "text/json+oembed": "json",
    "application/xml+oembed": "xml",
    "text/xml+oembed": "xml",
}
_ICONS = names_in("apple-touch-icon apple-touch-icon-precomposed fluid-icon icon mask-icon")
_LONGEST_REL = 200
_MAX_SIZES = 50


class Linked(NamedTuple):
    """What link elements lead to."""

    feeds: tuple[CardFeed, ...]
    icons: tuple[CardIcon, ...]
    oembed: tuple[CardOEmbed, ...]


def linked_of(links: Iterable[Attributes], addresses: Addresses, left_out: LeftOut) -> Linked:
    """Reads the link elements of a page."""
    feeds: dict[str, CardFeed] = {}
    icons: dict[str, CardIcon] = {}
    oembed: dict[str, CardOEmbed] = {}
    for attributes in links:
        href = attributes.get("href")
        rels = (attributes.get("rel") or "")[:_LONGEST_REL].lower()
        if not href or ("icon" not in rels and "alternat" not in rels):
            continue  # most are style sheets
        words = rels.split()
        kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if "alternate" in words or "alternative" in words:
            if kind in _FEED_TYPES:
                if url := addresses(href, "feeds"):
                    title = line(attributes.get("title"), MAX_NAME)
                    feeds.setdefault(url, CardFeed(url, title, kind))
            elif (form := _OEMBED_FORMATS.get(kind)) and (url := addresses(href, "oembed")):
                oembed.setdefault(url, CardOEmbed(url, form))
        elif (rel := next((word for word in words if word in _ICONS), "")) and (
            url := addresses(href, "icons")
        ):
            sizes = line(attributes.get("sizes"), _MAX_SIZES).lower()
            icons.setdefault(url, CardIcon(url, rel, sizes, line(kind, MAX_NAME)))
    left_out.count("feeds.limit", len(feeds) - MAX_FEEDS)
    left_out.count("icons.limit", len(icons) - MAX_ICONS)
    left_out.count("oembed.limit", len(oembed) - MAX_OEMBED)
    return Linked(
        tuple(feeds.values())[:MAX_FEEDS],
        tuple(icons.values())[:MAX_ICONS],
        tuple(oembed.values())[:MAX_OEMBED],
    )
