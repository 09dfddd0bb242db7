"""A table in more buckets than it has, so that rows are merged into it bucket by bucket."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import BucketTarget, largest_first, split_file
from crawl.tables.runner import Runner


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
