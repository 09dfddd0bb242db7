"""New rows of any table become its next snapshot's files: one task a slice that has any. Where the
table gets more buckets by that, its rows are parted first, so that they meet bucket by bucket."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from crawl.storage.manifest import BucketFile, Snapshot
from crawl.tables.bucket_files import BucketTarget, largest_first, split_file
from crawl.tables.exchange import Exchange
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.tables.table_merge import MergeJob, merge_delta


def merge_table(sent: Exchange[Any], job: MergeJob, slices: Slices, step: str) -> list[BucketFile]:
    """The files of the table to publish, after `send_delta` of tasks has sent the new rows to
    their slices; slices without a new row keep their files."""
    tasks = largest_first(
        slices.all[number] for number in np.flatnonzero(sent.row_counts()).tolist()
    )
    results = sent.run(partial(merge_delta, job), [(task.number, task) for task in tasks], step)
    return slices.files_after(dict(zip((task.number for task in tasks), results, strict=True)))


def in_buckets(
    runner: Runner, base: Snapshot | None, target: BucketTarget, buckets: int, step: str
) -> Snapshot | None:
    """The present state in so many buckets, a multiple of those that it has."""
    if base is None or base.buckets == buckets:
        return base
    split = runner.run(partial(split_file, target, buckets), largest_first(base.files), step)
    files = sorted(
        (file for each in split for file in each),
        key=lambda file: (file.bucket, (file.first or "").encode()),
    )
    return replace(base, buckets=buckets, files=tuple(files))
