"""New rows of any table, merged into its buckets.

A task that makes rows sends them to their buckets (`send_delta`); one task a bucket that has any
then merges them (`merge_delta`). What becomes of a key with several rows is the caller's
`Combine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from crawl.buckets.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.buckets.merge import Combine, merge_sorted, sort_by_key
from crawl.model.tables import Table
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile


@dataclass(frozen=True)
class MergeJob:
    """What every task of the step needs to know."""

    target: BucketTarget
    combine: Combine
    tidy: Callable[[Iterable[pa.Table]], Iterable[pa.Table]] | None = None
    """Called with all rows of a bucket that is written, in their order: what it leaves out is
    forgotten."""


@dataclass(frozen=True, slots=True)
class MergeTask:
    """One bucket, and its present file."""

    bucket: int
    base: BucketFile | None


@dataclass(frozen=True, slots=True)
class MergeTaskResult:
    """The bucket's new file; None where no row is left."""

    bucket: int
    file: BucketFile | None
    new_rows: int


def delta_of(table: Table) -> RowKind:
    """New rows of a table, as they travel."""
    return RowKind(table.name, table.schema)


def send_delta(table: Table, rows: pa.Table, buckets: int, outbox: Outbox) -> None:
    """Sends rows of the table, in any order, to their buckets."""
    outbox.send(delta_of(table), rows, buckets_of(rows[table.bucket_by], buckets))


def merge_delta(job: MergeJob, task: MergeTask, received: Received) -> MergeTaskResult:
    """Writes the bucket anew: what is stored, and the new rows."""
    table = job.target.table
    new = received.rows(delta_of(table))
    rows = merge_sorted(
        stored_groups(job.target.folder, task.base),
        sort_by_key(new, table.key),
        job.combine,
        table.key,
    )
    file = write_bucket(job.target, task.bucket, rows if job.tidy is None else job.tidy(rows))
    return MergeTaskResult(task.bucket, file, new.num_rows)
