"""The hosts of a bucket of the CrawlDb whose sitemaps may be asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest

import pyarrow.compute as pc

from crawl.buckets.bucket_files import stored_groups
from crawl.buckets.slices import Slice
from crawl.storage.folder import Folder
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
    """What every task of the step needs to know."""

    crawldb: Folder
    waiting: frozenset[str]
    """Hosts that are left alone for now."""
    most: int
    """How many hosts are wanted of all buckets; negative: all."""


@dataclass(frozen=True, slots=True)
class FindSitesTaskResult:
    """The hosts of a bucket with the most URLs."""

    sites: list[SiteOrigin]
    found: int
    """How many hosts there are."""
    waiting: int
    """How many more are left alone for now."""


def find_sites(job: FindSitesJob, bucket: Slice) -> FindSitesTaskResult:
    """Counts the URLs of each origin in a whole bucket, and chooses one for each host."""
    counts: Counter[str] = Counter()
    for rows in stored_groups(job.crawldb, bucket.files, ["url"]):
        matched = pc.extract_regex(rows["url"].combine_chunks(), _ORIGIN)
        for entry in pc.struct_field(matched, "origin").drop_null().value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
    best: dict[str, SiteOrigin] = {}
    waiting: set[str] = set()
    # of origins with equally many URLs https comes first
    for origin, urls in sorted(counts.items(), key=lambda each: (each[1], each[0])):
        host = host_of(f"{origin}/") or ""
        if host in job.waiting:
            waiting.add(host)
        else:
            best[host] = SiteOrigin(host, origin, urls)
    return FindSitesTaskResult(most_urls(best.values(), job.most), len(best), len(waiting))


def most_urls(sites: Iterable[SiteOrigin], most: int) -> list[SiteOrigin]:
    """The sites with the most URLs; all of them where `most` is negative."""
    found = list(sites)
    return nlargest(
        len(found) if most < 0 else most, found, key=lambda site: (site.urls, site.host)
    )
