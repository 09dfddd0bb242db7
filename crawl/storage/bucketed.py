"""Segment files whose rows lie bucket by bucket: the way into the CrawlDb, paid for once.

Fetch and parse write their rows so; updatedb's tasks then send them in the order in which they
lie, and whoever looks for a URL in a segment reads the rows of its bucket and hardly any
others. How many rows of which bucket there are stands in the file's footer. Row groups begin
with a bucket, so that a bucket of a few rows costs one small group, and one of many its own. A
file that says nothing of buckets is read whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import gcd
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import open_table, open_writer, read_groups

_GROUP_ROWS = 4_096
"""A group is closed at the first bucket's end beyond so many rows, or at four times as
many. Fewer make a footer that takes longer to read than the rows."""

_NOTE = b"nutria.buckets"


class _Buckets(msgspec.Struct):
    """What the footer says: the rows of each bucket, in the order of the file."""

    buckets: int
    rows: list[tuple[int, int]]


def write_bucketed(
    folder: Folder, name: str, table: pa.Table, buckets: int, kind: Table = CRAWLDB
) -> Piece:
    """Writes rows of a table sorted by bucket and, within one, by the table's key."""
    numbers = buckets_of(table[kind.bucket_by], buckets)
    keys = pa.table({"": _column(numbers), **{key: table[key] for key in kind.key}})
    order = pc.sort_indices(keys, [(key, "ascending") for key in keys.column_names])
    present, counts = np.unique(numbers, return_counts=True)
    rows = list(zip(present.tolist(), counts.tolist(), strict=True))
    note = json.dumps({"buckets": buckets, "rows": rows}).encode()
    ordered = table.combine_chunks().take(order)
    schema = table.schema.with_metadata({_NOTE: note})
    with open_writer(folder, name, schema, 4 * _GROUP_ROWS) as writer:
        start = waiting = 0
        for _, count in rows:
            waiting += count
            if waiting >= _GROUP_ROWS:
                writer.write(ordered.slice(start, waiting))
                writer.end_group()
                start, waiting = start + waiting, 0
        writer.write(ordered.slice(start))
    return Piece(name, writer.rows, writer.bytes)


def _column(numbers: npt.NDArray[np.int32]) -> pa.Array[Any]:
    """`pa.array` would load all of numpy.ma to see that they are not masked: in every task's
    process as much time as hundreds of pages take."""
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers.data)])


def read_bucket(
    folder: Folder,
    name: str,
    bucket: int,
    buckets: int,
    columns: list[str] | None = None,
    kind: Table = CRAWLDB,
) -> pa.Table:
    """The file's rows for bucket `bucket` of `buckets`, however many the writer knew of.

    Row groups are read one by one, and only those that may have such rows. The rows of a
    key keep their order; all are sorted by key if the file was written for `buckets`.
    """
    bucket_by = kind.bucket_by
    with open_table(folder, name) as source:
        read = columns if columns is None or bucket_by in columns else [*columns, bucket_by]
        schema = source.schema_arrow
        fields = [schema.field(name) for name in read or schema.names]
        tables = [pa.schema(fields).empty_table()]
        for group, first, count, is_pure in _places(source, bucket, buckets):
            rows = read_groups(source, [group], read).slice(first, count)
            if not is_pure:
                rows = rows.filter(pa.array(buckets_of(rows[bucket_by], buckets) == bucket))
            tables.append(rows)
        table = pa.concat_tables(tables).replace_schema_metadata(None)
        return table if columns is None else table.select(columns)


def _places(
    source: pq.ParquetFile, bucket: int, buckets: int
) -> Iterator[tuple[int, int, int, bool]]:
    """(row group, first row, rows, whether all of them are the bucket's) where to look."""
    sizes = [source.metadata.row_group(group).num_rows for group in range(source.num_row_groups)]
    note = _note(source)
    if note is None:
        for group, size in enumerate(sizes):
            yield group, 0, size, False
        return
    # the hash modulo both numbers agrees modulo their greatest common divisor
    shared = gcd(note.buckets, buckets)
    is_pure = note.buckets % buckets == 0
    group = before = start = 0
    for number, count in note.rows:
        end = start + count
        while start < end:
            while before + sizes[group] <= start:
                before += sizes[group]
                group += 1
            here = min(end, before + sizes[group]) - start
            if number % shared == bucket % shared:
                yield group, start - before, here, is_pure
            start += here


def _note(source: pq.ParquetFile) -> _Buckets | None:
    """What the footer says of buckets; None where it says nothing that can be right."""
    try:
        raw = (source.metadata.metadata or {}).get(_NOTE, b"")
        note = msgspec.json.decode(raw, type=_Buckets)
    except ValueError:
        return None
    return note if sum(rows for _, rows in note.rows) == source.metadata.num_rows else None
