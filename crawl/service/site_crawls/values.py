"""A site crawl: what was asked for, and how far it is."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from crawl.service.site_crawls.crawl_scope import ScopeWish
from crawl.service.values import Priority

MAX_SEEDS = 1000


class CrawlState(StrEnum):
    """Where a site crawl is; all but the first are ends."""

    RUNNING = "running"
    FINISHED = "finished"
    """Nothing is left to be asked for."""
    CANCELLED = "cancelled"
    TIME_LIMIT = "time_limit"


class CrawlLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a site is wanted."""

    pages: int = 1000
    """URLs that are asked for, at the most."""
    depth: int = 20
    """Links from a seed."""
    seconds: float | None = None
    per_host: int | None = None
    """URLs of one host that are asked for, at the most."""


class CrawlWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A site that somebody wants to have crawled at once."""

    seeds: tuple[str, ...]
    scope: ScopeWish = ScopeWish()
    limits: CrawlLimits = CrawlLimits()
    formats: tuple[str, ...] = ("metadata",)
    """What of its pages is shown: metadata, and markdown if wanted."""
    image: bool | None = None
    """Whether the images that stand for its pages are fetched; None: as the service is set."""
    tags: tuple[str, ...] = ()
    priority: Priority = Priority.LOW
    owner: str = ""


class CrawlCounts(msgspec.Struct, kw_only=True):
    """How far a crawl is."""

    asked: int = 0
    """URLs that were taken on: what follows is of these."""
    pages: int = 0
    """That came as pages."""
    failed: int = 0
    """That came as anything else."""
    left_out: dict[str, int] = {}
    """Links that were not taken on, by reason; `parse.` those that the rules of parsing drop before
    anybody asks for them. Of pages that are fetched anew after a death they count anew."""

    @property
    def outstanding(self) -> int:
        """URLs that are on their way."""
        return self.asked - self.pages - self.failed


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A URL that a crawl has taken on."""

    url: str
    """In normal form."""
    depth: int = 0
    """Links from a seed."""


class SiteCrawl(msgspec.Struct, kw_only=True):
    """A crawl as it is stored."""

    id: str
    wish: CrawlWish
    state: CrawlState
    started_ms: int
    ended_ms: int = 0
    further_hosts: tuple[str, ...] = ()
    """To which seeds were redirected: they belong to the site where no scope was asked for."""
    counts: CrawlCounts
    """As they were when it was stored; of one that runs they are in memory."""
