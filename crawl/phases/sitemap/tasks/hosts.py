"""The hosts of a bucket of the CrawlDb whose sitemaps may be asked for, and which of them are.

A task sends its hosts to where they are asked and returns how many have how many URLs: by that
the driver says where the cut is, and holds no host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

import pyarrow.compute as pc

from crawl.rules.host_wait import waits_until
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import stored_groups
from crawl.tables.hosts import read_hosts
from crawl.tables.slices import Slice
from crawl.urls.parse import host_of

_ORIGIN = r"^(?P<origin>https?://[^/?#\\\x00-\x20]+)"


@dataclass(frozen=True, slots=True)
class SiteOrigin:
    """A host with the origin (`scheme://host:port`) that most of its URLs have."""

    host: str
    origin: str
    urls: int


@dataclass(frozen=True, slots=True)
class FindSitesJob:
    """The search for hosts whose sitemaps may be asked for: the CrawlDb, the moment, and how many
    hosts are asked."""

    crawldb: Folder
    now_ms: int
    longest_ms: int
    """No host is left alone for longer."""
    max_hosts: int
    """How many hosts are asked of all buckets; negative: all."""


@dataclass(frozen=True, slots=True)
class FindSitesTask:
    """A whole bucket, and what is known of its hosts."""

    bucket: Slice
    hosts: BucketFile | None


@dataclass(frozen=True, slots=True)
class SitesTally:
    """How many hosts a bucket has, as the driver hears of them."""

    bucket: int
    by_urls: Mapping[int, int]
    """How many hosts have so many URLs, of those that may be chosen."""
    hosts: int
    """How many hosts there are."""
    waiting: int
    """How many more are left alone for now."""


def find_sites(job: FindSitesJob, task: FindSitesTask) -> tuple[list[SiteOrigin], SitesTally]:
    """Counts the URLs of each origin in a whole bucket, and chooses one for each host; the hosts
    with the most URLs come first."""
    counts: Counter[str] = Counter()
    for rows in stored_groups(job.crawldb, task.bucket.files, ["url"]):
        matched = pc.extract_regex(rows["url"].combine_chunks(), _ORIGIN)
        for entry in pc.struct_field(matched, "origin").drop_null().value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
    states = read_hosts(job.crawldb, task.hosts)
    best: dict[str, SiteOrigin] = {}
    waiting: set[str] = set()
    # of origins with equally many URLs https comes first
    for origin, urls in sorted(counts.items(), key=lambda each: (each[1], each[0])):
        host = host_of(f"{origin}/") or ""
        state = states.get(host)
        if state is not None and waits_until(state, job.longest_ms) > job.now_ms:
            waiting.add(host)
        else:
            best[host] = SiteOrigin(host, origin, urls)
    count = len(best) if job.max_hosts < 0 else job.max_hosts
    sites = nlargest(count, best.values(), key=lambda site: (site.urls, site.host))
    by_urls = Counter(site.urls for site in sites)
    return sites, SitesTally(task.bucket.bucket, by_urls, len(best), len(waiting))


@dataclass(frozen=True, slots=True)
class HostCut:
    """Which hosts are asked: those with more URLs than this, and by bucket the first of those
    that have just as many."""

    urls: int = 0
    tied: Mapping[int, int] = field(default_factory=dict)

    def takes(self, bucket: int, urls: int, place: int) -> bool:
        """`place`: among the hosts of the bucket with as many URLs."""
        return urls > self.urls or (urls == self.urls and place < self.tied.get(bucket, 0))


def cut_of(tallies: Sequence[SitesTally], most: int) -> tuple[HostCut, int]:
    """The cut by which no more than `most` hosts are asked, all where it is negative; and how many
    are."""
    totals: Counter[int] = Counter()
    for tally in tallies:
        totals.update(tally.by_urls)
    if most < 0 or totals.total() <= most:
        return HostCut(), totals.total()
    room = most
    for urls in sorted(totals, reverse=True):
        if totals[urls] > room:
            break
        room -= totals[urls]
    tied: dict[int, int] = {}
    for tally in tallies:
        if here := min(room, tally.by_urls.get(urls, 0)):
            tied[tally.bucket] = here
            room -= here
    return HostCut(urls, tied), most
