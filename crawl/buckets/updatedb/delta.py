"""What segments tell of the URLs of one bucket, read from the files that fetch and parse
wrote.

They are read once each, by tasks that send every row to its bucket. Only where there are few of
them, on a local disk, a bucket's task reads its own rows from each: they lie bucket by bucket
there, and to open them costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.buckets.renormalize import (
    Renormalization,
    StoredRecords,
    send_renormalized,
    with_urls,
)
from crawl.buckets.updatedb.hosts import HostTroublesFile, send_troubles
from crawl.counters import Counters
from crawl.errors import UsageError
from crawl.model.arrow import count_true
from crawl.model.tables import CRAWLDB
from crawl.storage.bucketed import read_bucket
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import StoredTable, each_group, open_whole_table

DELTA = CRAWLDB.schema.append(pa.field("origin", pa.int32(), False))
"""A row of a segment, and which table of which segment it is from."""
UPDATES = RowKind("updates", DELTA)

_MOST_BYTES = (1 << 31) - 1
"""The most bytes of one column that Arrow can hold in one piece."""
_ROWS_AT_ONCE = 400_000
"""Rows that a sending task has in memory, unless one file alone has more."""


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file of a segment's crawl_fetch or crawl_parse."""

    folder: Folder
    path: str
    rows: int
    origin: int
    """Twice the segment's place among those to be applied; one more for crawl_parse."""


@dataclass(frozen=True, slots=True)
class BucketDelta:
    """Where the rows for a bucket are: they were sent to it, or it reads them from the files as
    they were written."""

    files: Sequence[DeltaFile] = ()

    def read(self, bucket: int, buckets: int, received: Received) -> pa.Table:
        """The bucket's rows in the order of the segments; they must fit into memory."""
        rows = [received.rows(UPDATES)]
        for file in self.files:
            table = read_bucket(file.folder, file.path, bucket, buckets)
            if table.num_rows:
                rows.append(_with_origin(table, file.origin))
        found = pa.concat_tables(rows)
        if max(column.nbytes for column in found.columns) > _MOST_BYTES:
            size = found.nbytes >> 20
            raise UsageError(
                f"the segments tell too much of bucket {bucket} at once ({size:,} MiB):"
                " name fewer segments, or give the CrawlDb more buckets (`crawl rebucket`)"
            )
        return found


@dataclass(frozen=True)
class SendDeltaJob:
    """What every sending task needs to know."""

    stored: StoredRecords


@dataclass(frozen=True, slots=True)
class DeltaBundle:
    """Files that one task reads, in their order."""

    files: tuple[DeltaFile, ...]


SendDeltaTask = DeltaBundle | HostTroublesFile | BucketFile


def bundles(files: Iterable[DeltaFile]) -> Iterator[DeltaBundle]:
    """The files in their order, as many together as a sending task can take."""
    bundle: list[DeltaFile] = []
    rows = 0
    for file in files:
        if bundle and rows + file.rows > _ROWS_AT_ONCE:
            yield DeltaBundle(tuple(bundle))
            bundle, rows = [], 0
        bundle.append(file)
        rows += file.rows
    if bundle:
        yield DeltaBundle(tuple(bundle))


def send_delta(job: SendDeltaJob, task: SendDeltaTask, outbox: Outbox) -> Counters:
    """Sends to their buckets the rows of some files, what a fetch tells of hosts that failed, or
    the stored records of a bucket whose URL changes when it is normalised again."""
    counters = Counters()
    if isinstance(task, BucketFile):
        send_renormalized(job.stored, task, outbox)
    elif isinstance(task, HostTroublesFile):
        send_troubles(task, job.stored.buckets, outbox)
    else:
        for file in task.files:
            _send_file(job.stored, file, outbox, counters)
    return counters


def _send_file(stored: StoredRecords, file: DeltaFile, outbox: Outbox, counters: Counters) -> None:
    """Reads the file once, whole: on a store that is one request."""
    with open_whole_table(file.folder, file.path) as source:
        rows = pa.concat_tables([DELTA.empty_table(), *_groups(stored, file, source, counters)])
    outbox.send(UPDATES, rows, buckets_of(rows["host"], stored.buckets))


def _groups(
    stored: StoredRecords, file: DeltaFile, source: StoredTable, counters: Counters
) -> Iterator[pa.Table]:
    for group in each_group(source):
        yield _renormalized(stored.renormalization, _with_origin(group, file.origin), counters)


def _renormalized(
    renormalization: Renormalization | None, rows: pa.Table, counters: Counters
) -> pa.Table:
    if renormalization is None or rows.num_rows == 0:
        return rows
    urls, kept = renormalization.of(rows["url"].combine_chunks(), counters)
    counters["records_filtered"] += count_true(pc.invert(kept))
    return with_urls(rows.filter(kept), urls.filter(kept))


def _with_origin(rows: pa.Table, origin: int) -> pa.Table:
    column = pa.array(np.full(rows.num_rows, origin, dtype=np.int32))
    return rows.replace_schema_metadata(None).append_column(DELTA.field("origin"), column)
