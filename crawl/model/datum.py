"""CrawlDatum: what the CrawlDb knows of one URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from crawl.model.status import Status
from crawl.model.value import quick_value

GENERATE_TIME_KEY = "_ngt_"
"""Metadata: when generate last selected the URL, in milliseconds; updatedb removes it."""

FIXED_INTERVAL_KEY = "fixedInterval"
"""Metadata: an interval, in seconds, that an adaptive schedule must leave alone."""

SITEMAP_DEPTH_KEY = "_sitemapDepth_"
"""How many sitemap indexes, one below the other, lead to the URL."""

FETCH_DELAY_KEY = "_variableFetchDelay_"
"""Metadata: a delay for this URL's host, in milliseconds, from generate to fetch."""


@quick_value(frozen=True, slots=True)
class CrawlDatum:
    """One record, in Nutch's meaning; times are milliseconds since 1970 UTC."""

    status: Status
    fetch_time: int
    """In the CrawlDb: when the URL is due. In crawl_fetch: when it was fetched."""
    modified_time: int = 0
    """When the page was last seen to have changed; 0 while unknown."""
    fetch_interval: int = 0
    """Seconds until the next fetch."""
    retries: int = 0
    score: float = 0.0
    signature: bytes | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
