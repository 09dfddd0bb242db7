"""inject's later steps: seeds are merged into a bucket of the CrawlDb.

Old records pass through; on request those gone are purged, and all are normalised and
filtered again. A record whose URL changes by that may belong to another bucket, so such
records are gathered first (`find_moved`) and merged where they belong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.merge import Combine, merge_sorted, sorted_unique
from crawl.buckets.seeds import SEEDED
from crawl.config import Config
from crawl.config.properties import (
    CRAWLDB_ROW_GROUP_SIZE,
    DB_FETCH_INTERVAL_DEFAULT,
    DB_SCORE_INJECTED,
)
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.rules.inject import OnKnown, updated
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.snapshot import BucketFile
from crawl.storage.split import SplitFile, read_split, scratch_name, write_split
from crawl.urls.hosts import hosts_of


@dataclass(frozen=True)
class Merging:
    """What every task of the step needs to know."""

    config: Config
    crawldb: Folder
    scratch: Folder
    place: str
    buckets: int
    on_known: OnKnown
    purge_gone: bool
    again: Again | None = None


@dataclass(frozen=True)
class Again:
    """Old records too are normalised and filtered (`--filter-normalize-all`)."""

    normalizers: NormalizerChain | None
    filters: FilterChain | None


@dataclass(frozen=True, slots=True)
class BucketWork:
    """One bucket: its present file, and the split files with rows for it."""

    bucket: int
    base: BucketFile | None
    seeds: list[SplitFile]
    moved: list[SplitFile]


@dataclass(frozen=True, slots=True)
class BucketDone:
    """The bucket's new file; None where no row is left."""

    bucket: int
    file: BucketFile | None
    counters: Counters


def find_moved(merging: Merging, base: BucketFile) -> SplitFile | None:
    """The old records of a bucket whose URL changes when it is normalised again."""
    assert merging.again is not None
    moved = [CRAWLDB.schema.empty_table()]
    with open_table(merging.crawldb, base.path) as source:
        for group in each_group(source):
            group = _without_gone(merging, group, Counters())
            urls, kept = _again(merging.again, group["url"].combine_chunks(), Counters())
            changed = pc.and_(kept, pc.not_equal(urls, group["url"].combine_chunks()))
            rows = group.filter(changed)
            urls = urls.filter(changed)
            rows = rows.set_column(0, CRAWLDB.schema.field("url"), urls)
            moved.append(rows.set_column(1, CRAWLDB.schema.field("host"), hosts_of(urls)))
    table = pa.concat_tables(moved)
    if table.num_rows == 0:
        return None
    destinations = buckets_of(table["host"], merging.buckets)
    return write_split(merging.scratch, scratch_name("moved"), table, destinations)


def merge_bucket(merging: Merging, work: BucketWork) -> BucketDone:
    """Writes the bucket anew: old records, moved records and seeds."""
    counters = Counters()
    seeds = read_split(merging.scratch, work.seeds, work.bucket, SEEDED)
    seeds, repeated = sorted_unique(seeds, rank="sequence")
    moved = read_split(merging.scratch, work.moved, work.bucket, CRAWLDB.schema)
    moved, collapsed = sorted_unique(moved, rank="fetch_time")
    counters["urls_repeated_in_seeds"] += repeated
    counters["urls_injected_unique"] += seeds.num_rows
    counters["urls_moved_onto_known"] += collapsed

    def keep_old(old: pa.Table, new: pa.Table) -> pa.Table:
        counters["urls_moved_onto_known"] += old.num_rows
        return old

    rows = merge_sorted(_base(merging, work, counters), moved, keep_old)
    rows = merge_sorted(rows, seeds.drop_columns(["sequence"]), _combine(merging, counters))
    name = f"{merging.place}/{attempt_name(f'part-{work.bucket:05d}')}"
    with open_writer(
        merging.crawldb, name, CRAWLDB.schema, merging.config[CRAWLDB_ROW_GROUP_SIZE]
    ) as writer:
        for table in rows:
            writer.write(table)
    counters["urls_new"] = counters["urls_injected_unique"] - counters["urls_merged"]
    if writer.rows == 0:
        merging.crawldb.delete(name)
        return BucketDone(work.bucket, None, counters)
    size = merging.crawldb.size(name) or 0
    return BucketDone(work.bucket, BucketFile(work.bucket, name, writer.rows, size), counters)


def _base(merging: Merging, work: BucketWork, counters: Counters) -> Iterator[pa.Table]:
    if work.base is None:
        return
    with open_table(merging.crawldb, work.base.path) as source:
        for group in each_group(source):
            group = _without_gone(merging, group, counters)
            if merging.again is not None and group.num_rows:
                given = group["url"].combine_chunks()
                urls, kept = _again(merging.again, given, counters)
                counters["urls_purged_filter"] += pc.sum(pc.invert(kept)).as_py() or 0
                same = pc.and_(kept, pc.fill_null(pc.equal(urls, given), False))
                counters["urls_moved"] += (pc.sum(kept).as_py() or 0) - (pc.sum(same).as_py() or 0)
                group = group.filter(same)
            yield group


def _without_gone(merging: Merging, group: pa.Table, counters: Counters) -> pa.Table:
    if not merging.purge_gone:
        return group
    gone = pc.equal(group["status"], int(Status.DB_GONE))
    counters["urls_purged_404"] += pc.sum(gone).as_py() or 0
    return group.filter(pc.invert(gone))


def _again(again: Again, urls: pa.Array, counters: Counters) -> tuple[pa.Array, pa.Array]:
    """The URLs in today's normal form, and which of them today's filters keep."""
    if again.normalizers is not None:
        urls = again.normalizers.normalize_batch(urls, counters)
    kept = pc.is_valid(urls)
    if again.filters is not None:
        accepted = again.filters.filter_batch(urls.filter(kept), counters)
        kept = pc.replace_with_mask(kept, kept, accepted)
    return urls, kept


def _combine(merging: Merging, counters: Counters) -> Combine:
    # as the table stores it: 0.1 in 32 bits is not 0.1
    default_score = float(np.float32(merging.config[DB_SCORE_INJECTED]))

    def combine(old: pa.Table, new: pa.Table) -> pa.Table:
        counters["urls_merged"] += old.num_rows
        if merging.on_known is OnKnown.KEEP:
            return old
        if merging.on_known is OnKnown.OVERWRITE:
            return new
        return to_table(
            (
                url,
                host,
                updated(
                    was,
                    seed,
                    default_score=default_score,
                    default_interval=int(merging.config[DB_FETCH_INTERVAL_DEFAULT]),
                ),
            )
            for (url, was), (_, seed), host in zip(
                to_records(old), to_records(new), old["host"].to_pylist(), strict=True
            )
        )

    return combine
