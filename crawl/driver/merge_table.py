"""New rows of any table become its next snapshot's files: one task a slice that has any."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange
from crawl.tables.slices import Slices
from crawl.tables.table_merge import MergeJob, merge_delta


def merge_table(sent: Exchange[Any], job: MergeJob, slices: Slices, step: str) -> list[BucketFile]:
    """The files of the table to publish, after `send_delta` of tasks has sent the new rows to
    their slices; slices without a new row keep their files."""
    tasks = largest_first(
        slices.all[number] for number in np.flatnonzero(sent.row_counts()).tolist()
    )
    results = sent.run(partial(merge_delta, job), [(task.number, task) for task in tasks], step)
    return slices.files_after(
        {task.number: result.files for task, result in zip(tasks, results, strict=True)}
    )
