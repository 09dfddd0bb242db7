"""Old records on their way into a new snapshot: those gone purged, and all of them
normalised and filtered again, where a writer of the CrawlDb is asked to.

A record whose URL changes by that may belong to another slice, so such records are sent
there first (`send_renormalized`) and merged where they belong (`stored_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.arrow import count_true, equals, fill_null
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import stored_groups
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.merge import KeyGroups, keep_stored, merge_sorted, sorted_unique
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.tables.slices import Router, Slice
from crawl.urls.hosts import hosts_of

MOVED = RowKind("moved", CRAWLDB.schema)
"""Old records under another URL, on their way to its slice."""


@dataclass(frozen=True)
class Renormalization:
    """Today's normal form and filters, for URLs that passed yesterday's."""

    normalizers: NormalizerChain | None
    filters: FilterChain | None

    @classmethod
    def from_config(
        cls, config: Config, scope: Scope, normalize: bool, filter_urls: bool
    ) -> Renormalization | None:
        """The chains that the configuration names, as far as they are asked for; None where none
        is."""
        if not normalize and not filter_urls:
            return None
        return cls(
            NormalizerChain.from_config(config, scope) if normalize else None,
            FilterChain.from_config(config) if filter_urls else None,
        )

    def of(self, urls: pa.Array[Any], counters: Counters) -> tuple[pa.Array[Any], pa.Array[Any]]:
        """The URLs in today's normal form, and which of them today's filters keep."""
        if self.normalizers is not None:
            urls = self.normalizers.normalize_batch(urls, counters)
        passes = pc.is_valid(urls)
        if self.filters is not None:
            accepted = self.filters.filter_batch(urls.filter(passes), counters)
            passes = pc.replace_with_mask(passes, passes, accepted)
        return urls, passes


@dataclass(frozen=True)
class StoredRecords:
    """Where old records are, and what is asked of them."""

    crawldb: Folder
    router: Router
    purge_gone: bool = False
    renormalization: Renormalization | None = None


def send_renormalized(records: StoredRecords, base: BucketFile, outbox: Outbox) -> None:
    """Sends the old records of a file whose URL changes when it is normalised again."""
    assert records.renormalization is not None
    for group in stored_groups(records.crawldb, [base]):
        group = _without_gone(records, group, Counters())
        urls, passes = records.renormalization.of(group["url"].combine_chunks(), Counters())
        changed = pc.and_(passes, pc.not_equal(urls, group["url"].combine_chunks()))
        moved = with_urls(group.filter(changed), urls.filter(changed))
        outbox.send(MOVED, moved, records.router.slices_of(moved["host"], moved["url"]))


def with_urls(rows: pa.Table, urls: pa.Array[Any]) -> pa.Table:
    """Rows that begin with the CrawlDb's columns, under other URLs."""
    rows = rows.set_column(0, CRAWLDB.schema.field("url"), urls)
    return rows.set_column(1, CRAWLDB.schema.field("host"), fill_null(hosts_of(urls), ""))


def stored_rows(
    records: StoredRecords, base: Slice, received: Received, counters: Counters
) -> Iterator[pa.Table]:
    """A slice's old records in order of URL, those that moved into it included."""

    def keep_old(groups: KeyGroups) -> pa.Table:
        counters["urls_moved_onto_known"] += len(groups)
        return keep_stored(groups)

    staying = StoredGroups(_staying(records, base, counters), "url")
    for moved in NewRows.received(received, MOVED, "url").ranges():
        arrived, collapsed = sorted_unique(moved.rows, CRAWLDB.key, rank="fetch_time")
        counters["urls_moved_onto_known"] += collapsed
        yield from merge_sorted(staying.below(moved.end), arrived, keep_old, CRAWLDB.key)


def _staying(records: StoredRecords, base: Slice, counters: Counters) -> Iterator[pa.Table]:
    for group in stored_groups(records.crawldb, base.files):
        group = _without_gone(records, group, counters)
        if records.renormalization is not None and group.num_rows:
            before = group["url"].combine_chunks()
            urls, passes = records.renormalization.of(before, counters)
            counters["urls_purged_filter"] += count_true(pc.invert(passes))
            same = pc.and_(passes, fill_null(pc.equal(urls, before), False))
            counters["urls_moved"] += count_true(passes) - count_true(same)
            group = group.filter(same)
        yield group


def _without_gone(records: StoredRecords, group: pa.Table, counters: Counters) -> pa.Table:
    if not records.purge_gone:
        return group
    gone = equals(group["status"], int(Status.DB_GONE))
    counters["urls_purged_404"] += count_true(gone)
    return group.filter(pc.invert(gone))
