"""The last step of `crawl sitemap`: listed URLs are merged into a slice of the CrawlDb."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import (
    SITEMAP_INTERVAL_MIN,
    SITEMAP_REFETCH_MODIFIED,
    SITEMAP_URL_OVERWRITE_EXISTING,
)
from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.records import to_records, to_table
from crawl.phases.sitemap.rules import update_known
from crawl.phases.sitemap.tasks.values import LISTED
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, write_bucket
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.merge import KeyGroups, merge_sorted, sorted_unique
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.tables.renormalize import StoredRecords, stored_rows
from crawl.tables.slices import Router, Slice

LISTED_ROWS = RowKind("listed", LISTED)


def send_listed(scratch: Folder, router: Router, name: str, outbox: Outbox) -> None:
    """Sends the rows of a file to their slices."""
    rows = read_rows(scratch, name)
    outbox.send(LISTED_ROWS, rows, router.slices_of(rows["host"], rows["url"]))


@dataclass(frozen=True)
class SitemapMergeJob:
    """The merge of listed URLs into the CrawlDb: its stored records, where it is written, and the
    moment."""

    config: Config
    stored: StoredRecords
    target: BucketTarget
    now_ms: int


def merge_listed(job: SitemapMergeJob, base: Slice, received: Received) -> WrittenBucket:
    """Writes the slice anew, with the URLs that sitemaps list."""
    counters = Counters()
    expected = base.rows + received.row_count(LISTED_ROWS)
    rows = _merged(job, base, received, counters)
    files = write_bucket(job.target, base.bucket, rows, expected)
    return WrittenBucket(files, counters)


def _merged(
    job: SitemapMergeJob, base: Slice, received: Received, counters: Counters
) -> Iterator[pa.Table]:
    key = job.target.table.key

    def combine(groups: KeyGroups) -> pa.Table:
        counters["urls_known"] += len(groups)
        counters["urls_new"] -= len(groups)
        return _updated(job, groups, counters)

    stored = StoredGroups(stored_rows(job.stored, base, received, counters), "url")
    for new in NewRows.received(received, LISTED_ROWS, "url").ranges():
        listed, repeated = sorted_unique(new.rows, key, rank="rank")
        counters["urls_repeated"] += repeated
        counters["urls_new"] += listed.num_rows
        listed = listed.drop_columns(["rank"])
        yield from merge_sorted(stored.below(new.end), listed, combine, key)


def _updated(job: SitemapMergeJob, groups: KeyGroups, counters: Counters) -> pa.Table:
    config = job.config
    refetch_after = int(config[SITEMAP_INTERVAL_MIN]) if config[SITEMAP_REFETCH_MODIFIED] else None
    old, listed = groups.first(), groups.last()
    records = []
    for (url, was), (_, entry), host in zip(
        to_records(old), to_records(listed), strings(old["host"]), strict=True
    ):
        now = update_known(
            was,
            entry,
            now_ms=job.now_ms,
            overwrite=config[SITEMAP_URL_OVERWRITE_EXISTING],
            refetch_after_s=refetch_after,
        )
        counters["urls_updated"] += now != was
        counters["urls_due_earlier"] += now.fetch_time < was.fetch_time
        records.append((url, host, now))
    return to_table(records)
