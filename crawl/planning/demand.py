"""How much there is to do: the web that is crawled, how often, and into what it is divided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from crawl.errors import UsageError
from crawl.planning.host_sizes import HostPace, HostSizes

RECORDS_PER_BUCKET = 10_000_000
"""About 280 MB."""
RECORDS_PER_FILE = 4_000_000
"""A bucket of more has several files, each of which is a task's work (crawldb.file.rows)."""
ROBOTS_ROWS_PER_BUCKET = 300_000
"""Answers for robots.txt that are kept in a bucket at the most (crawl/phases/fetch/tasks.py)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What is to be crawled."""

    urls: float
    hosts: float
    pages_per_day: float
    page_bytes: float = 84_000
    links: float = 60
    pace: HostPace = field(default_factory=lambda: HostPace(5.0, 0.5))
    skew: float = 0.9
    revisit_days: float = 30
    rounds_per_day: float = 4
    seeds: float = 0
    """Injected once."""
    keep_days: float = 30
    """Segments older than that are deleted."""
    snapshots: int = 3
    buckets: int = 0
    """0: by the number of URLs."""
    parts: int = 0
    """Of a fetch list; 0: as many as there are buckets."""

    def __post_init__(self) -> None:
        for name in ("urls", "hosts", "pages_per_day", "rounds_per_day", "revisit_days"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise UsageError(f"{name.replace('_', ' ')}: a number above 0 is wanted")
        if self.hosts > self.urls:
            raise UsageError(
                f"{self.hosts:,.0f} hosts cannot have {self.urls:,.0f} URLs: one each at least"
            )
        if self.pages_per_round > self.urls * (1 + 1e-9):
            raise UsageError(
                f"a round of {self.pages_per_round:,.0f} pages of {self.urls:,.0f} URLs would"
                " fetch some twice: more rounds or fewer pages a day"
            )

    @property
    def pages_per_round(self) -> float:
        return self.pages_per_day / self.rounds_per_day

    @property
    def sizes(self) -> HostSizes:
        return HostSizes(self.hosts, self.urls, self.skew)

    @property
    def bucket_count(self) -> int:
        if self.buckets:
            return self.buckets
        return max(16, 1 << math.ceil(math.log2(max(1.0, self.urls / RECORDS_PER_BUCKET))))

    @property
    def file_count(self) -> float:
        """Files of the CrawlDb: one a bucket, or several where it has many records."""
        return self.bucket_count * max(1.0, math.ceil(self.bucket_records / RECORDS_PER_FILE))

    @property
    def bucket_records(self) -> float:
        return self.urls / self.bucket_count

    @property
    def part_count(self) -> float:
        return self.parts or self.bucket_count

    @property
    def cap(self) -> float:
        """The least generate.max.count that still gives a full list."""
        return self.sizes.cap_for(self.pages_per_round)

    @property
    def polite_s(self) -> float:
        """No fetch of a round's pages can be shorter."""
        return self.pace.chain_s(self.cap)

    @property
    def robots_per_round(self) -> float:
        """Hosts whose robots.txt is not known from an earlier round of the day."""
        anew = self.hosts / max(1.0, self.rounds_per_day)
        return min(self.hosts_in_round, max(anew, self.hosts_in_round - self.robots_kept))

    @property
    def robots_kept(self) -> float:
        """Hosts whose answers for robots.txt are kept from round to round."""
        return min(self.hosts, self.bucket_count * ROBOTS_ROWS_PER_BUCKET)

    @property
    def hosts_in_round(self) -> float:
        """At the most: as many as there are, or as there are pages."""
        return min(self.hosts, self.pages_per_round)
