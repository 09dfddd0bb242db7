"""One URL on its way through the fetcher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from crawl.interfaces.scoring import Target
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.model.value import quick_value
from crawl.urls.parse import host_of


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
    """The key of its queue: host, domain or address."""
    datum: CrawlDatum
    purpose: Purpose = Purpose.PAGE
    came_by: tuple[str, ...] = ()
    """The URLs that redirected here in this run, first one first."""
    representative: str = ""
    """The URL that stands for this page, where a redirect chose one."""
    robots_for: str = ""
    """The authority that a robots.txt is asked for, also where a redirect led elsewhere."""
    depth: int = 0
    """How many links were followed within this run to come here."""
    asked_again: bool = False
    """Whether this is the second try, after a failure that says nothing of the page."""


@quick_value(frozen=True, slots=True)
class FollowedUrl:
    """A URL that was taken on beyond the list, as much of it as has to be stored."""

    url: str
    host: str
    datum: CrawlDatum
    came_by: tuple[str, ...] = ()
    representative: str = ""
    depth: int = 0

    @classmethod
    def of(cls, item: FetchItem) -> FollowedUrl:
        return cls(item.url, item.host, item.datum, item.came_by, item.representative, item.depth)


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """Links of one page that are to be followed, and the depth that they lead to."""

    depth: int
    targets: list[Target]

    def as_followed(self) -> Iterator[FollowedUrl]:
        """The links as they are stored."""
        for url, datum in self.targets:
            unfetched = replace(datum, status=Status.DB_UNFETCHED)
            yield FollowedUrl(url, host_of(url) or "", unfetched, depth=self.depth)
