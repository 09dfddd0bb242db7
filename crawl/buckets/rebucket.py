"""A bucket becomes several: how a CrawlDb grows without a shuffle.

The bucket is the host's hash modulo their number. When that number is multiplied, the
rows of an old bucket go to new ones that get rows from nowhere else, and stay in order.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crawl.buckets.hosts import read_hosts, write_hosts
from crawl.model.hosts import HostState
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import bucket_of, buckets_of
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import TableWriter, each_group, open_table, open_writer


@dataclass(frozen=True, slots=True)
class Rebucketing:
    """What every task needs to know."""

    crawldb: Folder
    place: str
    buckets: int
    group_rows: int


def split_bucket(rebucketing: Rebucketing, base: BucketFile) -> list[BucketFile]:
    """Writes the files of the buckets that an old one's rows belong to now."""
    writers: dict[int, tuple[str, TableWriter]] = {}
    with ExitStack() as opened:
        source = opened.enter_context(open_table(rebucketing.crawldb, base.path))
        for rows in each_group(source):
            destinations = buckets_of(rows["host"], rebucketing.buckets)
            for bucket in np.unique(destinations).tolist():
                if bucket not in writers:
                    path = f"{rebucketing.place}/{attempt_name(f'part-{bucket:05d}')}"
                    writer = opened.enter_context(
                        open_writer(
                            rebucketing.crawldb, path, CRAWLDB.schema, rebucketing.group_rows
                        )
                    )
                    writers[bucket] = path, writer
                writers[bucket][1].write(rows.filter(pa.array(destinations == bucket)))
    return [
        BucketFile(bucket, path, writer.rows, rebucketing.crawldb.size(path) or 0)
        for bucket, (path, writer) in sorted(writers.items())
    ]


def split_hosts(rebucketing: Rebucketing, base: BucketFile) -> list[BucketFile]:
    """The same for the file of a bucket's hosts."""
    new: dict[int, list[HostState]] = {}
    for state in read_hosts(rebucketing.crawldb, base).values():
        new.setdefault(bucket_of(state.host, rebucketing.buckets), []).append(state)
    written = (
        write_hosts(rebucketing.crawldb, rebucketing.place, bucket, states)
        for bucket, states in sorted(new.items())
    )
    return [file for file in written if file is not None]
