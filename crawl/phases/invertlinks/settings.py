"""Properties of the LinkDb."""

from __future__ import annotations

from crawl.config import Property, boolean, boolean_or_auto, integer

LINKDB_IGNORE_INTERNAL_LINKS: Property[str] = boolean_or_auto(
    "linkdb.ignore.internal.links",
    "invertlinks leaves out links within a host. auto: unless all links of the crawl have to do"
    " with one host.",
)
LINKDB_IGNORE_EXTERNAL_LINKS: Property[bool] = boolean(
    "linkdb.ignore.external.links", False, "invertlinks leaves out links to other hosts."
)
LINKDB_MAX_ANCHOR_LENGTH: Property[int] = integer(
    "linkdb.max.anchor.length",
    100,
    "The LinkDb keeps so much of a link's text.",
    unit="characters",
    minimum=0,
)
LINKDB_MAX_INLINKS: Property[int] = integer(
    "linkdb.max.inlinks",
    10000,
    "Most links to one URL that the LinkDb keeps: those of the pages with the highest scores.",
    unit="links",
    minimum=1,
)
