"""Which links and redirects are followed, as the configuration says it."""

from __future__ import annotations

from crawl.config import Property, boolean, choice, integer, string_list

DB_MAX_OUTLINKS: Property[int] = integer(
    "db.max.outlinks.per.page",
    100,
    "Most links of a page that are kept; -1: all. Sitemaps and feeds have bounds of their own:"
    " parser.sitemap.max.urls, parser.feed.max.entries.",
    minimum=-1,
)
DB_MAX_OUTLINK_LENGTH: Property[int] = integer(
    "db.max.outlink.length",
    4096,
    "Longer links, redirects and canonical URLs are dropped.",
    unit="bytes",
    minimum=1,
)
DB_IGNORE_INTERNAL: Property[bool] = boolean(
    "db.ignore.internal.links", False, "Drop links to the page's own host (or domain)."
)
DB_IGNORE_EXTERNAL: Property[bool] = boolean(
    "db.ignore.external.links", False, "Drop links to other hosts (or domains)."
)
DB_IGNORE_MODE: Property[str] = choice(
    "db.ignore.external.links.mode",
    "byHost",
    ("byHost", "byDomain"),
    "What internal and external links are told apart by.",
)
PARSE_IGNORE_REL: Property[tuple[str, ...]] = string_list(
    "parse.outlinks.ignore.rel",
    ("nofollow",),
    "Links with one of these words in their rel are dropped; ugc and sponsored are others.",
)

LOCAL_FILE = "local_file"
"""The reason of links and redirects from the web to files of this machine."""
