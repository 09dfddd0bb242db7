"""What segments tell of the URLs of one bucket, read from the files that fetch and parse
wrote.

Those files lie bucket by bucket, so a bucket's task reads its own rows from each. Where
that would mean to open very many files, or where URLs are normalised and may change their
bucket, the files are gathered first: fewer of them, and each row where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.renormalize import Renormalization, with_urls
from crawl.counters import Counters
from crawl.errors import UsageError
from crawl.model.arrow import count_true
from crawl.model.tables import CRAWLDB
from crawl.storage.bucketed import read_bucket
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import each_group, open_table
from crawl.storage.split import SplitFile, read_split, scratch_name, write_split

DELTA = CRAWLDB.schema.append(pa.field("origin", pa.int32(), False))
"""A row of a segment, and which table of which segment it is from."""

_MOST_BYTES = (1 << 31) - 1
"""The most bytes of one column that Arrow can hold in one piece."""
_ROWS_AT_ONCE = 400_000
"""Rows that a gathering task has in memory, unless one file alone has more."""


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
    """Where the rows for the buckets are: in files as they were written, or gathered."""

    files: Sequence[DeltaFile] = ()
    gathered: Sequence[SplitFile] = ()

    def read(self, scratch: Folder, bucket: int, buckets: int) -> pa.Table:
        """The bucket's rows in the order of the segments; they must fit into memory."""
        rows = [read_split(scratch, self.gathered, bucket, DELTA)]
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
class GatherJob:
    """What every task of the step needs to know."""

    scratch: Folder
    buckets: int
    renormalization: Renormalization | None
    """How URLs are normalised and filtered."""


@dataclass(frozen=True, slots=True)
class GatherTaskResult:
    """The rows of some files, split by bucket; None where no row is left."""

    file: SplitFile | None
    counters: Counters


def bundles(files: Iterable[DeltaFile]) -> Iterator[list[DeltaFile]]:
    """The files in their order, as many together as a gathering task can take."""
    bundle: list[DeltaFile] = []
    rows = 0
    for file in files:
        if bundle and rows + file.rows > _ROWS_AT_ONCE:
            yield bundle
            bundle, rows = [], 0
        bundle.append(file)
        rows += file.rows
    if bundle:
        yield bundle


def gather(job: GatherJob, files: Sequence[DeltaFile]) -> GatherTaskResult:
    """Reads the files and writes their rows anew, split by bucket."""
    counters = Counters()
    rows = [DELTA.empty_table()]
    for file in files:
        with open_table(file.folder, file.path) as source:
            for group in each_group(source):
                group = _with_origin(group, file.origin)
                rows.append(_renormalized(job.renormalization, group, counters))
    table = pa.concat_tables(rows)
    if table.num_rows == 0:
        return GatherTaskResult(None, counters)
    destinations = buckets_of(table["host"], job.buckets)
    split = write_split(job.scratch, scratch_name("delta"), table, destinations)
    return GatherTaskResult(split, counters)


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
