"""generate's last steps: fetch lists are written, and the CrawlDb's records marked on request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crawl.buckets.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.buckets.exchange import Received
from crawl.buckets.generate.assigned import assigned_rows, with_generate_time
from crawl.buckets.generate.chains import LISTS
from crawl.buckets.slices import Slice
from crawl.model.tables import CRAWL_GENERATE, CRAWLDB
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_writer
from crawl.storage.segments import PartFile


@dataclass(frozen=True, slots=True)
class ListTask:
    """One part of one segment's fetch list."""

    folder: Folder
    """The segment's crawl_generate."""
    part: int
    destination: int


def write_list(group_rows: int, task: ListTask, received: Received) -> PartFile:
    """Writes the part's file, shuffled so that hosts take turns."""
    rows = received.rows(LISTS).combine_chunks()
    order = np.random.default_rng(task.destination).permutation(rows.num_rows)
    name = attempt_name(f"part-{task.part:05d}")
    with open_writer(task.folder, name, CRAWL_GENERATE.schema, group_rows) as writer:
        writer.write(rows.take(order))
    return PartFile(task.part, name, rows.num_rows, task.folder.size(name) or 0)


@dataclass(frozen=True, slots=True)
class MarkJob:
    """What every task of the marking step needs to know."""

    target: BucketTarget
    now_ms: int


def mark_slice(job: MarkJob, base: Slice, received: Received) -> tuple[BucketFile, ...]:
    """Writes the slice anew with the generate time in its selected records."""
    rows = _marked_groups(job, base, received)
    return write_bucket(job.target, base.bucket, rows, base.rows)


def _marked_groups(job: MarkJob, base: Slice, received: Received) -> Iterator[pa.Table]:
    rows, segments = assigned_rows(received)
    column = CRAWLDB.names.index("metadata")
    start = 0
    for group in stored_groups(job.target.folder, base.files):
        first, last = np.searchsorted(rows, [start, start + group.num_rows])
        start += group.num_rows
        if last > first:
            marked = with_generate_time(
                group["metadata"].combine_chunks(),
                job.now_ms,
                rows[first:last] - (start - group.num_rows),
                segments[first:last],
            )
            group = group.set_column(column, CRAWLDB.schema.field("metadata"), marked)
        yield group
