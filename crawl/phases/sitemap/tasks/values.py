"""What tasks of `crawl sitemap` are given, and what they return: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.hand_over import HandedOver
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.registry import ResolvedPlugin
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.tables import CRAWLDB
from crawl.phases.sitemap.rules import folder_of
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder

LISTED = CRAWLDB.schema.append(pa.field("rank", pa.int64(), False))
"""CrawlDb rows of listed URLs. Of several for one URL the one with the highest rank counts."""
UNPROVED = LISTED.append(pa.field("sitemap", pa.string(), False))
"""Those that lie outside the scopes of their sitemap as far as the task knows them."""


class SourceKind(Enum):
    """The kind of a source."""

    SITEMAP = "sitemap"
    SITE = "site"
    """The sitemaps that the robots.txt of a site names, or its /sitemap.xml."""
    ROBOTS = "robots"
    """The names of sitemaps in a robots.txt, and no more."""


@dataclass(frozen=True, slots=True)
class SitemapSource:
    """Something to ask for: a sitemap or a robots.txt."""

    url: str
    site: str
    """The host on whose behalf it is read: what limits are counted by."""
    kind: SourceKind = SourceKind.SITEMAP
    depth: int = 0
    """How many indexes, or moves to other servers, have led to it."""
    scopes: frozenset[str] = frozenset()
    """Those of whoever named it (crawl/phases/sitemap/rules.py)."""

    @property
    def all_scopes(self) -> frozenset[str]:
        """With its own folder."""
        return self.scopes | {folder_of(self.url)}


def site_source(origin: str, host: str, kind: SourceKind = SourceKind.SITE) -> SitemapSource:
    """The sitemaps that a site says it has."""
    return SitemapSource(f"{origin}/robots.txt", host, kind)


@dataclass(frozen=True, slots=True)
class SiteUsage:
    """How many sitemaps and URLs were read on behalf of a site."""

    sitemaps: int = 0
    urls: int = 0


@dataclass(frozen=True, slots=True)
class SiteState:
    """How reading a site's sitemaps went, for the dataset `sitemaps`."""

    read: int = 0
    failed: int = 0
    urls: int = 0
    trouble: str = ""

    def __add__(self, later: SiteState) -> SiteState:
        return SiteState(
            self.read + later.read,
            self.failed + later.failed,
            self.urls + later.urls,
            later.trouble or self.trouble,
        )


@dataclass(frozen=True)
class SitemapJob:
    """A wave of reading sitemaps: the configuration, the plugins, the lists of all tasks, and what
    earlier waves and fetches have left."""

    config: Config
    protocols: tuple[ResolvedPlugin, ...]
    normalizers: NormalizerChain | None
    filters: FilterChain | None
    scoring: ScoringChain
    now_ms: int
    scratch: Folder
    deadline_ms: int | None = None
    lists: tuple[SitemapList, ...] = ()
    """Those of all tasks of the wave: their servers are not another's to ask."""
    pauses: tuple[Piece | None, ...] = ()
    """The pauses and failures of servers that earlier waves asked, in as many files as servers
    are dealt to."""
    clock: Clock = field(default_factory=SystemClock)
    handed_over: HandedOver = field(default_factory=HandedOver)
    """The caches that fetches, and sitemaps before these, have left."""


@dataclass(frozen=True, slots=True)
class SitemapList:
    """The file of sources that one task of a wave asks for: all sources of some servers."""

    number: int
    name: str
    rows: int
    servers: Piece | None
    """The pauses that these, and others of their destination, are owed."""
    repeated: int
    """Sources that were left out because they are asked for already."""


@dataclass(frozen=True, slots=True)
class SitemapTask:
    """The same, as it was read."""

    number: int
    sources: tuple[SitemapSource, ...]
    server_keys: frozenset[str]
    is_alone: bool
    """Whether no other task runs, so that it may ask any server."""
    usage: dict[str, SiteUsage] = field(default_factory=dict)
    """By site, what waves before this one have read."""


@dataclass(slots=True)
class SitemapFindings:
    """URLs, hosts and sites of which one task has news: they go into files."""

    elsewhere: list[SitemapSource] = field(default_factory=list)
    """Sitemaps on servers that are not this task's to ask."""
    cross_part: list[SitemapSource] = field(default_factory=list)
    """Sources whose robots.txt is on a server of another task."""
    scopes: dict[str, frozenset[str]] = field(default_factory=dict)
    """By sitemap that was asked for."""
    links: set[tuple[str, str]] = field(default_factory=set)
    """(source, sitemap): an index and what it lists, or a redirect."""
    named: list[tuple[str, str]] = field(default_factory=list)
    """(host, sitemap) of the lines in robots.txt files."""
    robots_read: set[str] = field(default_factory=set)
    """Hosts whose robots.txt is known."""
    unproved: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By host, its origin and how many of its URLs are listed by sitemaps elsewhere."""
    usage: dict[str, SiteUsage] = field(default_factory=dict)
    states: dict[str, SiteState] = field(default_factory=dict)
    """By site, what this task has read."""
    robots: list[Piece] = field(default_factory=list)
    """Files with the answers for robots.txt that it got."""


@dataclass(frozen=True, slots=True)
class SitemapTaskResult:
    """The result of a task as the driver hears of it: counts, and names of files in the job's
    scratch folder."""

    counters: Counters
    samples: dict[str, list[str]]
    files: tuple[str, ...] = ()
    """Rows for the CrawlDb (crawl/storage/row_files.py)."""
    unproved_files: tuple[str, ...] = ()
    """Rows that their sitemaps may not list, as far as the task knows."""
    sources: str | None = None
    """The file of sources that other tasks have to ask for (`scratch_files.py`)."""
    has_cross_part: bool = False
    """Whether there are sources among them that must be asked while no other task runs."""
    notes: str | None = None
    """The file of notes for the later steps."""
    unproved_hosts: int = 0
    states: str | None = None
    """The file of the states of sites."""
    robots: tuple[Piece, ...] = ()
    """The answers for robots.txt that it got."""
    servers: Piece | None = None
    """The pauses of its servers at the end."""
