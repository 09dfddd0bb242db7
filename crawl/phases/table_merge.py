"""New rows of any table become its next snapshot's files: one task a bucket that has any."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from crawl.buckets.bucket_files import largest_first
from crawl.buckets.runner import Runner
from crawl.buckets.table_merge import MergeJob, MergeTask, merge_delta
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.split import SplitFile, destinations_of


def merge_table(
    runner: Runner, job: MergeJob, base: Snapshot | None, delta: Sequence[SplitFile], step: str
) -> list[BucketFile]:
    """The files of all buckets to publish; buckets without a new row keep their file."""
    stored = {file.bucket: file for file in base.files} if base else {}
    delta_of = destinations_of(delta)
    tasks = [MergeTask(bucket, stored.get(bucket), files) for bucket, files in delta_of.items()]
    results = runner.run(partial(merge_delta, job), largest_first(tasks), step)
    written = [result.file for result in results if result.file is not None]
    if base is None:
        return sorted(written, key=lambda file: file.bucket)
    return base.replacing(written, delta_of)
