"""What segments tell of the URLs of one slice, read from the files that fetch and parse wrote.

They are read once each, by tasks that send every row to its slice. Only where there are few of
them, on a local disk, a slice's task reads its own rows from each: they lie bucket by bucket
there, and to open them costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.buckets.ranges import NewRows, Thin
from crawl.buckets.renormalize import (
    Renormalization,
    StoredRecords,
    send_renormalized,
    with_urls,
)
from crawl.buckets.slices import Slice
from crawl.buckets.updatedb.hosts import HostTroublesFile, send_troubles
from crawl.counters import Counters
from crawl.model.arrow import count_true
from crawl.model.tables import CRAWLDB
from crawl.storage.bucketed import read_bucket
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import StoredTable, each_group, open_whole_table

DELTA = CRAWLDB.schema.append(pa.field("origin", pa.int32(), False))
"""A row of a segment, and which table of which segment it is from."""
UPDATES = RowKind("updates", DELTA)

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
class SegmentDelta:
    """Where the rows for slices are: they were sent to them, or each reads its own from the files
    as they were written."""

    files: Sequence[DeltaFile] = ()

    def rows_of(
        self, base: Slice, buckets: int, received: Received, thin: Thin | None = None
    ) -> NewRows:
        """The slice's rows, in the order of the segments."""
        tables = partial(self._tables, base, buckets, received)
        return NewRows(DELTA, CRAWLDB.key[0], tables, thin)

    def _tables(self, base: Slice, buckets: int, received: Received) -> Iterator[pa.Table]:
        yield from received.tables(UPDATES)
        keys = base.first, base.end
        for file in self.files:
            table = read_bucket(file.folder, file.path, base.bucket, buckets, keys=keys)
            if table.num_rows:
                yield _with_origin(table, file.origin)


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
    """Sends to their slices the rows of some files, what a fetch tells of hosts that failed, or
    the stored records of a file whose URL changes when it is normalised again."""
    counters = Counters()
    if isinstance(task, BucketFile):
        send_renormalized(job.stored, task, outbox)
    elif isinstance(task, HostTroublesFile):
        send_troubles(task, job.stored.router, outbox)
    else:
        for file in task.files:
            _send_file(job.stored, file, outbox, counters)
    return counters


def _send_file(stored: StoredRecords, file: DeltaFile, outbox: Outbox, counters: Counters) -> None:
    """Reads the file once, whole: on a store that is one request."""
    with open_whole_table(file.folder, file.path) as source:
        rows = pa.concat_tables([DELTA.empty_table(), *_groups(stored, file, source, counters)])
    outbox.send(UPDATES, rows, stored.router.slices_of(rows["host"], rows["url"]))


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
