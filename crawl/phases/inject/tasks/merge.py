"""inject, task by task: seeds, and old records that are normalised again, are sent to their
slices; there they are merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT, DB_SCORE_INJECTED
from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.records import to_records, to_table
from crawl.phases.inject.tasks.seeds import SEEDS, ReadSeedsJob, ReadSeedsTaskResult, read_seeds
from crawl.rules.inject import OnKnown, update_known
from crawl.storage.manifest import BucketFile
from crawl.storage.seeds import SeedPiece
from crawl.tables import merge
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, write_bucket
from crawl.tables.exchange import Outbox, Received
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.tables.renormalize import MOVED, StoredRecords, send_renormalized, stored_rows
from crawl.tables.slices import Slice


def send_rows(
    reading: ReadSeedsJob, stored: StoredRecords, task: SeedPiece | BucketFile, outbox: Outbox
) -> ReadSeedsTaskResult | None:
    """Sends the seeds of a piece, or the records of a file that move elsewhere."""
    if isinstance(task, SeedPiece):
        return read_seeds(reading, task, outbox)
    send_renormalized(stored, task, outbox)
    return None


@dataclass(frozen=True)
class InjectMergeJob:
    """The merge of seeds into the CrawlDb: its stored records, where it is written, and what
    becomes of known URLs."""

    config: Config
    stored: StoredRecords
    target: BucketTarget
    on_known: OnKnown


def merge_slice(job: InjectMergeJob, base: Slice, received: Received) -> WrittenBucket:
    """Writes the slice anew: old records, moved records and seeds."""
    counters = Counters()
    expected = base.rows + received.row_count(SEEDS) + received.row_count(MOVED)
    rows = _merged(job, base, received, counters)
    files = write_bucket(job.target, base.bucket, rows, expected)
    counters["urls_new"] = counters["urls_injected_unique"] - counters["urls_merged"]
    return WrittenBucket(files, counters)


def _merged(
    job: InjectMergeJob, base: Slice, received: Received, counters: Counters
) -> Iterator[pa.Table]:
    key = job.target.table.key
    # as the table stores it: 0.1 in 32 bits is not 0.1
    default_score = float(np.float32(job.config[DB_SCORE_INJECTED]))
    default_interval = int(job.config[DB_FETCH_INTERVAL_DEFAULT])

    def combine(groups: merge.KeyGroups) -> pa.Table:
        counters["urls_merged"] += len(groups)
        if job.on_known is OnKnown.KEEP:
            return merge.keep_stored(groups)
        if job.on_known is OnKnown.OVERWRITE:
            return merge.replace_stored(groups)
        old, new = groups.first(), groups.last()
        pairs = zip(to_records(old), to_records(new), strings(old["host"]), strict=True)
        update = partial(
            update_known, default_score=default_score, default_interval=default_interval
        )
        return to_table((url, host, update(was, seed)) for (url, was), (_, seed), host in pairs)

    stored = StoredGroups(stored_rows(job.stored, base, received, counters), "url")
    for seeds in NewRows.received(received, SEEDS, "url").ranges():
        unique, repeated = merge.sorted_unique(seeds.rows, key, rank="sequence")
        counters["urls_repeated_in_seeds"] += repeated
        counters["urls_injected_unique"] += unique.num_rows
        unique = unique.drop_columns(["sequence"])
        yield from merge.merge_sorted(stored.below(seeds.end), unique, combine, key)
