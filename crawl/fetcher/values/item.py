"""One URL on its way through the fetcher."""

from __future__ import annotations

from enum import Enum

from crawl.model.datum import CrawlDatum
from crawl.model.value import quick_value


class Purpose(Enum):
    """Why a URL is asked for."""

    PAGE = "page"
    ROBOTS = "robots"
    """A robots.txt: served before pages, never asked about itself."""


@quick_value(frozen=True, slots=True, eq=False)
class FetchItem:
    """A URL with the record it came with and the queue it waits in."""

    url: str
    host: str
    authority: str
    """`scheme://host:port`: what a robots.txt speaks for."""
    key: str
    """The queue's: host, domain or address."""
    datum: CrawlDatum
    purpose: Purpose = Purpose.PAGE
    came_by: tuple[str, ...] = ()
    """The URLs that redirected here in this run, first one first."""
    representative: str = ""
    """The URL that stands for this page, where a redirect chose one."""
    robots_for: str = ""
    """Of a robots.txt: the authority whose rules it tells, after redirects too."""
    depth: int = 0
    """How many links were followed within this run to come here."""
    asked_again: bool = False
    """It was asked for by a connection that its server had closed by then."""


@quick_value(frozen=True, slots=True)
class Followed:
    """A URL that was taken on beyond the list, as much of it as has to be stored."""

    url: str
    host: str
    datum: CrawlDatum
    came_by: tuple[str, ...] = ()
    representative: str = ""
    depth: int = 0

    @classmethod
    def of(cls, item: FetchItem) -> Followed:
        return cls(item.url, item.host, item.datum, item.came_by, item.representative, item.depth)
