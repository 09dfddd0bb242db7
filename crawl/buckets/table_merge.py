"""New rows of any table, merged into its buckets.

A task that makes rows splits them by bucket as it writes them (`write_delta`); one task a
bucket that has any then merges them (`merge_delta`). What becomes of a key with several rows
is the caller's `Combine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from crawl.buckets.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.buckets.merge import Combine, merge_sorted, sort_by_key
from crawl.model.tables import Table
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile
from crawl.storage.split import SplitFile, read_split, scratch_name, write_split


@dataclass(frozen=True)
class MergeJob:
    """What every task of the step needs to know."""

    target: BucketTarget
    scratch: Folder
    combine: Combine
    tidy: Callable[[Iterable[pa.Table]], Iterable[pa.Table]] | None = None
    """Called with all rows of a bucket that is written, in their order: what it leaves out is
    forgotten."""


@dataclass(frozen=True, slots=True)
class MergeTask:
    """One bucket: its present file, and the split files with rows for it."""

    bucket: int
    base: BucketFile | None
    delta: Sequence[SplitFile]


@dataclass(frozen=True, slots=True)
class MergeTaskResult:
    """The bucket's new file; None where no row is left."""

    bucket: int
    file: BucketFile | None
    new_rows: int


def write_delta(scratch: Folder, table: Table, rows: pa.Table, buckets: int) -> SplitFile | None:
    """Writes rows of the table, in any order, split by bucket; None where there is no row."""
    if rows.num_rows == 0:
        return None
    destinations = buckets_of(rows[table.bucket_by], buckets)
    return write_split(scratch, scratch_name(table.name), rows, destinations)


def merge_delta(job: MergeJob, task: MergeTask) -> MergeTaskResult:
    """Writes the bucket anew: what is stored, and the new rows."""
    table = job.target.table
    new = read_split(job.scratch, task.delta, task.bucket, table.schema)
    rows = merge_sorted(
        stored_groups(job.target.folder, task.base),
        sort_by_key(new, table.key),
        job.combine,
        table.key,
    )
    file = write_bucket(job.target, task.bucket, rows if job.tidy is None else job.tidy(rows))
    return MergeTaskResult(task.bucket, file, new.num_rows)
