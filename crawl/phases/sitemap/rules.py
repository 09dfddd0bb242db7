"""What a sitemap may list, and what its entries mean for the records of the CrawlDb. Pure.

A sitemap may list the URLs of its scopes (sitemaps.org, "Sitemap file location" and "cross
submits"). A scope is an address that ends in a slash, for all URLs below it, or the name of a
host, for all of its URLs. A sitemap has

    its own folder       http://a.test/shop/sitemap.xml: http://a.test/shop/
    whoever names it     a robots.txt: its whole host; an index, or a URL that redirects to the
                         sitemap: the scopes of that index or URL

so that an index vouches for the sitemaps below it, wherever they are, and nobody for more than
is his own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum
from crawl.model.status import Status

LASTMOD_KEY = "sitemap.lastmod"
CHANGEFREQ_KEY = "sitemap.changefreq"
PRIORITY_KEY = "sitemap.priority"
KEYS = (LASTMOD_KEY, CHANGEFREQ_KEY, PRIORITY_KEY)
"""Metadata: what the sitemap says of the URL."""

REASONS = (
    *("facts_ignored.", "hosts_failed.", "hosts_left_out.", "sitemaps_cut", "sitemaps_dropped."),
    *("sitemaps_failed.", "sitemaps_not_asked.", "sitemaps_not_followed.", "redirects_dropped."),
    *("plugin_errors.", "urls_dropped."),
)
"""Beginnings of the counters that say what was not taken, and why."""

DEFAULT_PRIORITY = 0.5
"""Of an entry that names none (sitemaps.org)."""
_INTERVALS = {
    "always": 1,
    "hourly": 3600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
    "never": 2**31 - 1,
}
_FETCHED = frozenset(
    (
        *(Status.DB_FETCHED, Status.DB_NOTMODIFIED, Status.DB_GONE, Status.DB_DUPLICATE),
        *(Status.DB_REDIR_TEMP, Status.DB_REDIR_PERM, Status.DB_PARSE_FAILED),
    )
)
"""Records that were fetched once, so that their interval tells when. A new one is due anyway,
and one that failed keeps its pause."""
_FUTURE_MS = 86_400_000
"""A lastmod may be ahead of us by the time zones of the earth."""
_MONTH = re.compile(r"\d{4}(-\d{2})?")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+|[0-9]+\.")
_MAX_CHARACTERS = 64


def folder_of(sitemap_url: str) -> str:
    """The folder of a sitemap, as a scope."""
    beginning, _, _ = sitemap_url.partition("?")
    return beginning[: beginning.rfind("/") + 1]


def is_within(scopes: Iterable[str], url: str, host: str) -> bool:
    """Whether a URL lies in one of the scopes."""
    return any(url.startswith(scope) if scope.endswith("/") else host == scope for scope in scopes)


def lastmod_ms(text: str, now_ms: int) -> int | None:
    """The moment of a lastmod (W3C datetime) or of a feed (also RFC 822); None for what is no
    date, or a day that has not begun anywhere."""
    text = text.strip()[:_MAX_CHARACTERS]
    try:
        if _MONTH.fullmatch(text):
            moment = datetime(int(text[:4]), int(text[5:7] or 1), 1, tzinfo=UTC)
        elif text[:4].isdigit():
            moment = datetime.fromisoformat(text)
        else:
            moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        modified_ms = round(moment.timestamp() * 1000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return modified_ms if 0 < modified_ms <= now_ms + _FUTURE_MS else None


def priority_of(text: str) -> float | None:
    """A priority from 0 to 1; None for anything else."""
    text = text.strip()[:_MAX_CHARACTERS]
    number = float(text) if _NUMBER.fullmatch(text) else 2.0
    return number if number <= 1.0 else None


def interval_of(changefreq: str, shortest: int, longest: int) -> int | None:
    """The seconds between fetches that a changefreq asks for, within bounds; None for a word that
    is none."""
    seconds = _INTERVALS.get(changefreq.strip().lower())
    return None if seconds is None else max(shortest, min(seconds, longest))


def update_known(
    old: CrawlDatum,
    listed: CrawlDatum,
    *,
    now_ms: int,
    overwrite: bool,
    refetch_after_s: int | None,
) -> CrawlDatum:
    """The record of a known URL that a sitemap lists. Its metadata says what this sitemap says,
    and no longer what an earlier one did. A page that was changed since it was fetched is due
    now, but not before `refetch_after_s` have passed since then; None: when it was to be. Score
    and interval stay as they are, unless they are to be overwritten and the sitemap names them."""
    facts = {key: listed.metadata[key] for key in KEYS if key in listed.metadata}
    metadata = {key: value for key, value in old.metadata.items() if key not in KEYS} | facts
    record = replace(old, metadata=metadata)
    if overwrite:
        has_interval = CHANGEFREQ_KEY in facts and FIXED_INTERVAL_KEY not in old.metadata
        record = replace(
            record,
            score=listed.score if PRIORITY_KEY in facts else old.score,
            fetch_interval=listed.fetch_interval if has_interval else old.fetch_interval,
        )
    if refetch_after_s is not None and old.status in _FETCHED and LASTMOD_KEY in facts:
        fetched_ms = old.fetch_time - old.fetch_interval * 1000
        modified_ms = lastmod_ms(facts[LASTMOD_KEY], now_ms)
        if modified_ms is not None and modified_ms > fetched_ms:
            due = max(now_ms, fetched_ms + refetch_after_s * 1000)
            record = replace(record, fetch_time=min(old.fetch_time, due))
    return record
