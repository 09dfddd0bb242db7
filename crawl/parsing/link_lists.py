"""Sitemaps and feeds: documents that are lists of links. How many of them are followed is for
their parsers to bound (parser.sitemap.max.urls, parser.feed.max.entries), and not for
db.max.outlinks.per.page, which is meant for pages with menus and footers."""

from __future__ import annotations

from collections.abc import Mapping

SITEMAP_KIND_KEY = "sitemap.kind"
FEED_ENTRIES_KEY = "feed.entries"
"""Keys of a parse's metadata that only the parsers of such documents write."""


def is_link_list(metadata: Mapping[str, str]) -> bool:
    """Whether the metadata of a parse is that of a sitemap or a feed."""
    return SITEMAP_KIND_KEY in metadata or FEED_ENTRIES_KEY in metadata
