"""New rows of any table, merged into its slices.

A task that makes rows sends them to their slices (`send_delta`); one task a slice that has any
then merges them (`merge_delta`). What becomes of a key with several rows is the caller's
`Combine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from crawl.model.table import Table
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.merge import Combine, merge_sorted, sort_by_key
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.tables.slices import Router, Slice


@dataclass(frozen=True)
class MergeJob:
    """A merge of new rows into a table: where the table is written, and how the rows of one key
    become one."""

    target: BucketTarget
    combine: Combine
    tidy: Callable[[Iterable[pa.Table]], Iterable[pa.Table]] | None = None
    """Called with all rows of a slice that is written, in their order: what it leaves out is
    forgotten."""
    join: Callable[[pa.Table], pa.Table] | None = None
    """Makes one row of the new ones of a key, which are given in the order of the key, before
    they meet the stored one."""


def delta_of(table: Table) -> RowKind:
    """New rows of a table, as they travel."""
    return RowKind(table.name, table.schema)


def send_delta(table: Table, rows: pa.Table, router: Router, outbox: Outbox) -> None:
    """Sends rows of the table, in any order, to their slices."""
    slices = router.slices_of(rows[table.bucket_by], rows[table.key[0]])
    outbox.send(delta_of(table), rows, slices)


def merge_delta(job: MergeJob, base: Slice, received: Received) -> tuple[BucketFile, ...]:
    """Writes the slice anew, with what is stored and the new rows: its new files, none where no
    row is left."""
    new = received.row_count(delta_of(job.target.table))
    rows: Iterable[pa.Table] = _merged(job, base, received)
    if job.tidy is not None:
        rows = job.tidy(rows)
    return write_bucket(job.target, base.bucket, rows, base.rows + new)


def _merged(job: MergeJob, base: Slice, received: Received) -> Iterator[pa.Table]:
    table = job.target.table
    stored = StoredGroups(stored_groups(job.target.folder, base.files), table.key[0])
    for new in NewRows.received(received, delta_of(table), table.key[0]).ranges():
        rows = sort_by_key(new.rows, table.key)
        rows = rows if job.join is None else job.join(rows)
        yield from merge_sorted(stored.below(new.end), rows, job.combine, table.key)
