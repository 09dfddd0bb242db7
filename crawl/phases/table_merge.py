"""New rows of any table become its next snapshot's files: one task a bucket that has any."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from crawl.buckets.bucket_files import largest_first
from crawl.buckets.exchange import Exchange
from crawl.buckets.table_merge import MergeJob, MergeTask, merge_delta
from crawl.storage.manifest import BucketFile, Snapshot


def merge_table(
    sent: Exchange[Any], job: MergeJob, base: Snapshot | None, step: str
) -> list[BucketFile]:
    """The files of all buckets to publish, after `send_delta` of tasks has sent the new rows to
    their buckets; buckets without a new row keep their file."""
    stored = {file.bucket: file for file in base.files} if base else {}
    touched = np.flatnonzero(sent.row_counts()).tolist()
    tasks = largest_first(MergeTask(bucket, stored.get(bucket)) for bucket in touched)
    results = sent.run(partial(merge_delta, job), [(task.bucket, task) for task in tasks], step)
    written = [result.file for result in results if result.file is not None]
    if base is None:
        return sorted(written, key=lambda file: file.bucket)
    return base.replacing(written, touched)
