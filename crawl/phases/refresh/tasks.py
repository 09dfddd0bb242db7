"""refresh on one slice of the CrawlDb: which records match, and what becomes of them, by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, as_mask
from crawl.model.status import Status, status_label
from crawl.model.table import TIMESTAMP
from crawl.model.tables import CRAWLDB
from crawl.phases.generate.tasks.scan import is_reserved
from crawl.phases.generate.tasks.selection import Selection
from crawl.phases.generate.tasks.unfinished import LISTED
from crawl.phases.refresh.rules import RefreshOutcome, UrlPattern
from crawl.storage.folder import Folder
from crawl.storage.layout import encoded
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, stored_groups, write_bucket
from crawl.tables.exchange import Received
from crawl.tables.slices import Slice

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RefreshJob:
    """A refresh of the CrawlDb: which URLs it makes due, and what generate holds for due anyway."""

    crawldb: Folder
    patterns: tuple[UrlPattern, ...]
    selection: Selection
    """generate's at this moment: what it holds for due is not made so."""
    with_gone: bool


@dataclass(frozen=True, slots=True)
class RefreshTaskResult:
    """What became of the records of a slice."""

    counters: Counters
    matched: tuple[int, ...]
    """Records for each pattern; one may count for several."""


def count_slice(job: RefreshJob, base: Slice, received: Received) -> RefreshTaskResult:
    """Counts what would become of the records of a slice; nothing is written. Received are the URLs
    on lists of unfinished segments."""
    counters = Counters()
    matched = np.zeros(len(job.patterns), dtype=np.int64)
    needs_all = job.selection.schedule.needs_url
    columns = [name for name in CRAWLDB.names if needs_all or name != "signature"]
    listed = received.rows(LISTED)["url"]
    for rows in stored_groups(job.crawldb, base.files, columns):
        counters["records"] += rows.num_rows
        by_pattern, outcomes = _decide(job, rows, listed, counters)
        matched += by_pattern.sum(axis=1)
        counters["matched"] += int(np.count_nonzero(by_pattern.any(axis=0)))
        for outcome, mask in outcomes.items():
            counters[outcome.value] += int(np.count_nonzero(mask))
        statuses = rows["status"].to_numpy()[outcomes[RefreshOutcome.MADE_DUE]]
        for status, count in zip(*np.unique(statuses, return_counts=True), strict=True):
            counters[f"{RefreshOutcome.MADE_DUE}.{status_label(int(status))}"] += int(count)
    return RefreshTaskResult(+counters, tuple(matched.tolist()))


def refresh_slice(
    job: RefreshJob, target: BucketTarget, base: Slice, received: Received
) -> WrittenBucket:
    """Writes a slice with the matching records due now."""
    rows = _refreshed(job, base, received)
    return WrittenBucket(write_bucket(target, base.bucket, rows, base.rows), Counters())


def _refreshed(job: RefreshJob, base: Slice, received: Received) -> Iterator[pa.Table]:
    listed = received.rows(LISTED)["url"]
    for rows in stored_groups(job.crawldb, base.files):
        made = _decide(job, rows, listed, Counters())[1][RefreshOutcome.MADE_DUE]
        now = pa.scalar(job.selection.now_ms, TIMESTAMP)
        rows = _with(rows, "fetch_time", made, now)
        # whoever asks for a page anew gives it all its tries
        yield _with(rows, "retries", made, pa.scalar(0, CRAWLDB.schema.field("retries").type))


def _with(rows: pa.Table, name: str, made: Mask, value: pa.Scalar[Any]) -> pa.Table:
    """The rows with a value in those of the mask."""
    column = pc.if_else(pa.array(made), value, as_array(rows[name]))
    return rows.set_column(CRAWLDB.names.index(name), CRAWLDB.schema.field(name), column)


def _decide(
    job: RefreshJob, rows: pa.Table, listed: pa.ChunkedArray[Any], counters: Counters
) -> tuple[Mask, dict[RefreshOutcome, Mask]]:
    """The rows that each pattern means, and `refresh_outcome` of every row that any does."""
    by_pattern = np.array([_matching(pattern, rows) for pattern in job.patterns])
    matched: Mask = np.logical_or.reduce(by_pattern)
    if not matched.any():
        return by_pattern, dict.fromkeys(RefreshOutcome, matched)
    selection = job.selection
    gone = matched & (rows["status"].to_numpy() == int(Status.DB_GONE)) & (not job.with_gone)
    rest = matched & ~gone
    on_list = rest & is_reserved(selection, rows)
    if len(listed):
        on_list |= rest & as_mask(pc.is_in(rows["url"], value_set=listed))
    rest &= ~on_list
    due = rest & as_mask(selection.schedule.due(rows, selection.now_ms, counters))
    return by_pattern, {
        RefreshOutcome.MADE_DUE: rest & ~due,
        RefreshOutcome.ALREADY_DUE: due,
        RefreshOutcome.GONE: gone,
        RefreshOutcome.ON_FETCH_LIST: on_list,
    }


def _matching(pattern: UrlPattern, rows: pa.Table) -> Mask:
    """The rows that a pattern means; hosts, of which there are few, are asked once each."""
    mask = np.ones(rows.num_rows, dtype=bool)
    if pattern.host_regex:
        hosts = encoded(rows["host"])
        names = as_mask(pc.match_substring_regex(hosts.dictionary, pattern.host_regex))
        mask = names[hosts.indices.to_numpy()]
    if pattern.url_regex and mask.any():
        mask = mask & as_mask(pc.match_substring_regex(rows["url"], pattern.url_regex))
    return mask
