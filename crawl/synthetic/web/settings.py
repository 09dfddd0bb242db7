"""What a synthetic web is computed from: every number that shapes it.

Two webs with equal settings are the same web, in every process and on every machine.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from crawl.errors import UsageError
from crawl.synthetic.web.kinds import ODD, PageKind, RobotsKind, SitemapStyle


@dataclass(frozen=True, slots=True)
class Settings:
    """The shape of a web."""

    sites: int = 20
    pages: int = 1000
    """Of all sites together; every site has at least one."""
    seed: int = 0
    port: int = 0
    """Part of every URL, but for 80 and for 0, where a server chooses one when it starts."""
    skew: float = 1.0
    """The size of the n-th largest site is proportional to n^-skew; 0 for equal sizes."""
    fanout: int = 8
    """Children of a page in its site's tree, and so how deep a site is."""
    links: float = 10.0
    """Mean number of links besides those of the tree; their number is a power law."""
    external: float = 0.1
    """Share of those links that lead to another site."""
    size: int = 30_000
    """Mean bytes of a page; a page has between half and one and a half of it."""
    odd: float = 0.2
    """Share of the leaves of the trees that are of one of the odd `kinds`."""
    kinds: tuple[PageKind, ...] = ODD
    private: float = 0.05
    """Share of pages under /private/, which many a robots.txt closes."""
    robots: tuple[RobotsKind, ...] = tuple(RobotsKind)
    """The sites' robots.txt: site n has number n modulo their number."""
    sitemaps: tuple[SitemapStyle, ...] = tuple(SitemapStyle)
    """The sites' sitemaps, in the same way."""
    crawl_delay: float = 1.0
    """Of robots.txt where it has one; seconds."""
    compressed: float = 0.25
    """Share of pages that are sent compressed to whoever accepts it."""
    charsets: bool = True
    """Whether there are other charsets than declared UTF-8."""
    latency: float = 0.0
    """Mean seconds before an answer; a site has between half and one and a half of it."""
    slow: float = 0.5
    """Seconds that a slow page takes in addition."""
    repair: int = 3600
    """The moment of the web's own time when broken robots.txt and flaky pages get well."""
    retry_after: int = 1
    """Seconds that a 429 or 503 asks for."""
    addresses: int = 20
    """Loopback addresses, from 127.0.0.1, that the sites share."""

    sessions: tuple[str, ...] = ()
    """Session ids in the links of the sites, in the same way: names of a parameter, `;name` of
    one in the path, empty for a site without any."""

    def __post_init__(self) -> None:
        if self.sites < 1 or self.pages < self.sites:
            raise UsageError(f"{self.sites} sites need at least as many pages, not {self.pages}")
        if not 1 <= self.addresses <= 99:
            raise UsageError(f"{self.addresses} loopback addresses: can be 1 to 99")
        is_empty = not self.robots or not self.sitemaps or (self.odd and not self.kinds)
        if self.fanout < 1 or self.size < 1 or is_empty:
            raise UsageError("fanout, size, robots, sitemaps and kinds of a web must not be empty")

    @classmethod
    def plain(cls, sites: int, pages: int, **others: Any) -> Settings:
        """Nothing but good pages on open sites of equal size: for measuring speed."""
        calm: dict[str, Any] = {
            "skew": 0.0,
            "odd": 0.0,
            "private": 0.0,
            "compressed": 0.0,
            "charsets": False,
            "robots": (RobotsKind.OPEN,),
            "sitemaps": (SitemapStyle.PLAIN,),
        }
        return cls(sites, pages, **{**calm, **others})

    def as_json(self) -> dict[str, Any]:
        """Plain values, for another process."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Settings:
        """What `as_json` gave."""
        return msgspec.convert(content, cls)
