"""What dust does to a slice of the CrawlDb: reads its pages, and makes rows or evidence of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array
from crawl.model.status import Status
from crawl.phases.dust.tasks.evidence import BucketEvidence, bucket_evidence
from crawl.phases.dust.tasks.rows import CANDIDATES, DustRows, add_rows
from crawl.storage.folder import Folder
from crawl.storage.layout import encoded
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox, Received
from crawl.tables.slices import Slice
from crawl.urls.dust import HostDust

FETCHED = (Status.DB_FETCHED, Status.DB_NOTMODIFIED, Status.DB_DUPLICATE)
"""Statuses of URLs whose content is known by its signature."""
_CHUNK = 16_384
"""URLs whose bytes are numbered at a time."""
_MAX_NAMES = 200_000
"""Rules of a slice that are told apart: the least frequent names are those of sites that make
them up."""


@dataclass(frozen=True, slots=True)
class DustJob:
    """A pass of dust over the CrawlDb, which looks for rules or only judges known ones."""

    crawldb: Folder
    search: bool
    """Whether further rules are looked for, or only those that are known judged."""


@dataclass(frozen=True, slots=True)
class DustTask:
    """A slice, and the rules that its hosts have so far."""

    slice: Slice
    rules_by_host: Mapping[str, HostDust]


def each_page(crawldb: Folder, slice_: Slice) -> Iterator[pa.Table]:
    """The url, host and signature of a slice's pages whose content is known, some at a time."""
    statuses = pa.array([int(status) for status in FETCHED], pa.int8())
    for file in slice_.files:
        with open_table(crawldb, file.path, host_codes=True, size=file.bytes) as source:
            for rows in each_group(source, ["url", "host", "status", "signature"]):
                is_page = pc.and_(
                    pc.is_in(rows["status"], value_set=statuses), pc.is_valid(rows["signature"])
                )
                pages = rows.filter(is_page).drop_columns(["status"])
                for start in range(0, pages.num_rows, _CHUNK):
                    yield pages.slice(start, _CHUNK).combine_chunks()


def slice_rows(job: DustJob, task: DustTask) -> DustRows:
    """The rows of a slice."""
    result = DustRows()
    for pages in each_page(job.crawldb, task.slice):
        if not job.search:
            codes = encoded(pages["host"])
            ruled = pa.array([*task.rules_by_host], codes.dictionary.type)
            has_rules = pc.is_in(codes.dictionary, value_set=ruled)
            pages = pages.filter(has_rules.take(codes.indices))
            if not pages.num_rows:
                continue
        url, host, signature = (as_array(pages[name]) for name in ("url", "host", "signature"))
        add_rows(result, url, host, signature, task.rules_by_host, search=job.search)
        if len(result.names) > 2 * _MAX_NAMES:
            _drop_names(result)
    return result


def _drop_names(rows: DustRows) -> None:
    names = sorted(rows.names.items(), key=lambda each: -each[1][2])[:_MAX_NAMES]
    rows.names = dict(names)
    rules = np.array([rule for (rule, _), _ in names], np.uint64)
    rows.tables[CANDIDATES] = [
        table.filter(pa.array(np.isin(table["rule"].to_numpy(), rules)))
        for table in rows.tables[CANDIDATES]
    ]


def weigh_bucket(job: DustJob, task: DustTask) -> tuple[int, BucketEvidence]:
    """The pages of a bucket that is one slice, and their evidence."""
    rows = slice_rows(job, task)
    return rows.urls, bucket_evidence(rows.all_tables().__getitem__)


def send_rows(job: DustJob, task: DustTask, outbox: Outbox) -> int:
    """Sends the rows of a slice to its bucket, of which it is a part; returns how many pages."""
    rows = slice_rows(job, task)
    for kind, tables in rows.all_tables().items():
        for table in tables:
            outbox.send_all(kind, table, task.slice.bucket)
    return rows.urls


def weigh_received(bucket: int, received: Received) -> BucketEvidence:
    """The evidence of a bucket of several slices."""
    return bucket_evidence(received.tables)
