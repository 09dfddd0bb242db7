"""Which pages become documents: of each URL the newest fetch and the newest parse count, and what
the CrawlDb says of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain
from crawl.model.arrow import as_array, fill_null
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.phases.index.rules import Action, IndexRules
from crawl.phases.index.tasks.decisions import Decisions, PageFacts, decide
from crawl.phases.index.tasks.inlinks import InlinkSource
from crawl.phases.index.tasks.keys import FETCH_KEY, PARSE_KEY
from crawl.phases.index.tasks.matching import matching_rows
from crawl.phases.index.tasks.sent_notes import UnsettledUrls
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile, Snapshot

DATUM = [name for name in CRAWLDB.names if name not in ("url", "host")]


def files_of_shard(snapshot: Snapshot | None, shard: int, shards: int) -> tuple[BucketFile, ...]:
    """The files of a snapshot that may have URLs of a shard, of so many."""
    if snapshot is None:
        return ()
    shared = gcd(shards, snapshot.buckets)
    return tuple(file for file in snapshot.files if file.bucket % shared == shard % shared)


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard, and the CrawlDb's files that have its URLs."""

    number: int
    crawldb: tuple[BucketFile, ...] = ()
    kept_out: tuple[BucketFile, ...] = ()
    """What is noted of pages that are kept out."""
    ledger: BucketFile | None = None
    unsettled: tuple[UnsettledUrls, ...] = ()
    """What jobs that died may have sent."""

    @property
    def rows(self) -> int:
        ledger_rows = self.ledger.rows if self.ledger else 0
        return ledger_rows + sum(file.rows for file in (*self.crawldb, *self.kept_out))


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What came of a shard."""

    counters: Counters
    kept_out: tuple[BucketFile, ...]
    """Its notes of pages that are kept out, from now on."""


@dataclass(frozen=True)
class DecideJob:
    """The decision which pages become documents: the rules, the segments, and the CrawlDb and
    LinkDb where they are asked."""

    shards: int
    parts: int
    rules: IndexRules
    applied: tuple[bool, ...]
    """Of each segment whether the CrawlDb has taken it in."""
    crawldb: Folder | None
    inlinks: InlinkSource | None
    filters: FilterChain | None = None


@dataclass(frozen=True, slots=True)
class DecidedPages:
    """What is known of some pages, and what the table of decisions.py says of them."""

    newest: Newest
    stored: pa.Table
    """The CrawlDb's records."""
    decisions: Decisions

    @property
    def urls(self) -> pa.Array[Any]:
        return as_array(self.newest.pages["url"])

    @property
    def is_added(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.decisions.actions == int(Action.ADD), dtype=np.bool_)


def decide_rows(
    job: DecideJob, task: ShardTask, rows: pa.Table, counters: Counters
) -> DecidedPages:
    """Decides on all pages of a range of a shard's keys, which has some."""
    newest = _newest(rows)
    pages = newest.pages
    urls = as_array(pages["url"])
    stored = _stored(job, task, urls)
    db_status = numbers(stored["status"], np.int8)
    applied = np.array(job.applied, dtype=np.bool_)[newest.segment] & (db_status != 0)
    facts = PageFacts(
        newest.fetch_status,
        db_status,
        applied,
        newest.has_parse,
        newest.is_parsed,
        newest.is_noindex,
    )
    decisions = _filtered(job, urls, decide(facts, job.rules), counters)
    counters["urls"] += len(urls)
    counters.update(decisions.counts())
    return DecidedPages(newest, stored, decisions)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest that segments know of each URL of a range."""

    pages: pa.Table
    """A row a URL: its parse's keys, or its fetch's where it has none."""
    segment: npt.NDArray[np.int32]
    """That of the fetch, which is the newest."""
    fetch_status: npt.NDArray[np.int8]
    has_parse: npt.NDArray[np.bool_]
    is_parsed: npt.NDArray[np.bool_]
    is_noindex: npt.NDArray[np.bool_]
    version: npt.NDArray[np.int64]
    score: npt.NDArray[np.float32]


def _newest(rows: pa.Table) -> Newest:
    keys = ("url", "kind", "time", "segment", "part", "row")
    rows = rows.take(pc.sort_indices(rows, [(key, "ascending") for key in keys])).combine_chunks()
    count = rows.num_rows
    urls = as_array(rows["url"])
    kind = numbers(rows["kind"], np.int8)
    is_first = np.ones(count, dtype=np.bool_)
    is_first[1:] = pc.not_equal(urls.slice(1), urls.slice(0, count - 1)).to_numpy(
        zero_copy_only=False
    )
    group = np.cumsum(is_first) - 1
    groups = int(group[-1]) + 1
    last = {kind_: np.full(groups, -1, dtype=np.int64) for kind_ in (FETCH_KEY, PARSE_KEY)}
    for kind_, places in last.items():
        here = np.flatnonzero(kind == kind_)
        places[group[here]] = here  # rows are in order: the last one stays
    fetch, parse = last[FETCH_KEY], last[PARSE_KEY]
    has_parse = parse >= 0
    rows_of_pages = np.where(has_parse, parse, fetch)
    pages = rows.take(rows_of_pages)
    status = numbers(rows["status"], np.int8)
    time = numbers(rows["time"], np.int64)
    # a document inside a page has no fetch of its own: it came with the page's
    fetch_status = np.where(fetch >= 0, status[fetch], np.int8(Status.FETCH_SUCCESS))
    segment = numbers(rows["segment"], np.int32)
    return Newest(
        pages,
        segment[np.where(fetch >= 0, fetch, parse)],
        fetch_status.astype(np.int8),
        has_parse,
        has_parse & (status[parse] == 1),
        has_parse & numbers(rows["noindex"], np.bool_)[parse],
        np.maximum(time[rows_of_pages], np.where(fetch >= 0, time[fetch], 0)),
        np.where(fetch >= 0, numbers(rows["score"], np.float32)[fetch], 0).astype(np.float32),
    )


def numbers(column: Any, kind: Any) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = (
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    )
    return values.astype(kind)


def _stored(job: DecideJob, task: ShardTask, urls: pa.Array[Any]) -> pa.Table:
    """The CrawlDb's record of each URL; nulls, and a status of 0, where it has none."""
    tables: list[pa.Table] = []
    owners = [np.zeros(0, dtype=np.int64)]
    paths = (file.path for file in task.crawldb)
    for rows, places in matching_rows(job.crawldb, paths, urls, DATUM) if job.crawldb else ():
        tables.append(rows)
        owners.append(places)
    schema = pa.schema([CRAWLDB.schema.field(name).with_nullable(True) for name in DATUM])
    table = pa.concat_tables([schema.empty_table(), *(rows.cast(schema) for rows in tables)])
    place = np.full(len(urls), -1, dtype=np.int64)
    place[np.concatenate(owners)] = np.arange(table.num_rows)
    rows_of_urls: Any = pa.array(place, mask=place < 0)
    records = table.take(rows_of_urls)
    status = fill_null(records["status"], 0)
    return records.set_column(DATUM.index("status"), schema.field("status"), status)


def _filtered(
    job: DecideJob, urls: pa.Array[Any], decisions: Decisions, counters: Counters
) -> Decisions:
    """URL filters have the last word, where they are asked."""
    if job.filters is None:
        return decisions
    rows = np.flatnonzero(decisions.actions == int(Action.ADD))
    accepted = job.filters.filter_batch(urls.take(rows), counters)
    rejected = rows[~accepted.to_numpy(zero_copy_only=False)]
    counters["skipped.url_filter"] += len(rejected)
    decisions.actions[rejected] = int(Action.SKIP)
    return decisions
