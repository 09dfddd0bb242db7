"""What a sitemap says of a page beside its URL; some of it makes no sense."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

from crawl.synthetic.web.plan import PageDraws

_BEFORE = 1_767_225_600
"""All dates are in the year before the web's own time begins, 2026."""
_YEAR = 31_536_000
_FREQUENCIES = ("", "always", "hourly", "daily", "Weekly", "monthly", "yearly", "never", "often")
_PRIORITIES = ("", "0.0", "0.1", "0.5", "0.75", "1.0", "1", "2.0", "high")


@dataclass(frozen=True, slots=True)
class SitemapFacts:
    """Facts as they are written; empty where nothing is said."""

    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""
    modified: int = 0
    """The moment of `lastmod`, in seconds since 1970; 0 for none."""

    @property
    def statements(self) -> dict[str, str]:
        """All that is said, by name."""
        names = ("lastmod", "changefreq", "priority")
        return {name: text for name in names if (text := getattr(self, name))}


def facts_of(draws: PageDraws) -> SitemapFacts:
    """All that a sitemap says of a page."""
    moment = datetime.fromtimestamp(_BEFORE - draws.detail % _YEAR, tz=UTC)
    match draws.text % 4:
        case 0:
            moment = moment.replace(hour=0, minute=0, second=0)
            lastmod = moment.strftime("%Y-%m-%d")
        case 1:
            lastmod = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        case 2:
            lastmod = moment.astimezone(timezone(timedelta(hours=2))).isoformat()
        case _:
            moment = moment.replace(day=1, hour=0, minute=0, second=0)
            lastmod = moment.strftime("%Y-%m")
    return SitemapFacts(
        lastmod,
        _FREQUENCIES[draws.links % len(_FREQUENCIES)],
        _PRIORITIES[draws.size % len(_PRIORITIES)],
        int(moment.timestamp()),
    )


def feed_date(draws: PageDraws, *, is_rss: bool) -> SitemapFacts:
    """The date of a page in a feed."""
    moment = datetime.fromtimestamp(_BEFORE - draws.detail % _YEAR, tz=UTC)
    text = format_datetime(moment, usegmt=True) if is_rss else moment.isoformat()
    return SitemapFacts(text, modified=int(moment.timestamp()))
