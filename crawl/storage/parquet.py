"""Parquet files as every table here is written: zstd 3, row groups of an even size.

pyarrow, because it writes and reads the files without a JVM. URLs are stored plain and
not dictionary-coded: unique values only waste a dictionary, and plain text under zstd
is as small and four times faster to read than delta coding (measured on 1M URLs). Times
are delta-coded: five times faster to write than by a dictionary, and a third smaller.

Every page has a checksum and so has the footer (footer.py), and readers verify both, which
costs some 3% of the time that it takes to unpack a page: no flipped bit becomes a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO, IOBase
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from crawl.errors import DamagedFile, StorageError
from crawl.storage.folder import Folder
from crawl.storage.footer import SealingSink, footer_of, verify_footer

UNIQUE_COLUMNS = frozenset(
    {
        *("url", "signature", "score", "content", "request_headers", "response_headers"),
        *("text", "main_text", "title", "message", "canonical", "from_url"),
    }
)
"""Columns whose values hardly repeat."""

LARGE_COLUMNS = frozenset({"content", "request_headers", "response_headers", "text", "main_text"})
"""Columns that nobody looks into for a smallest or largest value."""

DELTA_COLUMNS = frozenset({"node", "destination", "source"})
"""Columns of numbers that rise: their differences are small."""

_SINK_BYTES = 1 << 20
"""Gathered before the file is written to: Parquet writes in crumbs, each of which would wait
for the interpreter's lock."""

DEFAULT_GROUP_ROWS = 65_536
MISSING = "it is missing"


class TableWriter:
    """Gathers tables of any size into row groups of `group_rows`."""

    def __init__(self, sink: pq.ParquetWriter, group_rows: int) -> None:
        self._sink = sink
        self._group_rows = group_rows
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self.rows = 0
        self.bytes = 0
        """Of the file, as soon as it is whole: a store need not be asked."""

    def write(self, table: pa.Table) -> None:
        if table.num_rows == 0:
            return
        self.rows += table.num_rows
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        if self._waiting_rows >= self._group_rows:
            self._flush(self._waiting_rows - self._waiting_rows % self._group_rows)

    def end_group(self) -> int:
        """Closes the row group being filled; returns how many rows it holds."""
        rows = self._waiting_rows
        self._flush(rows)
        return rows

    def _flush(self, rows: int) -> None:
        if rows == 0:
            return
        gathered = pa.concat_tables(self._waiting)
        self._sink.write_table(gathered.slice(0, rows), row_group_size=self._group_rows)
        rest = gathered.slice(rows)
        self._waiting = [rest] if rest.num_rows else []
        self._waiting_rows = rest.num_rows


@contextmanager
def open_writer(
    folder: Folder,
    name: str,
    schema: pa.Schema,
    group_rows: int = DEFAULT_GROUP_ROWS,
    *,
    whole: bool = False,
) -> Iterator[TableWriter]:
    """Writes one Parquet file; it is whole only when the block ends without a fault. `whole`: it
    has no name before, as in Folder.open_write."""
    deltas = [
        field.name
        for field in schema
        if pa.types.is_timestamp(field.type) or field.name in DELTA_COLUMNS
    ]
    lists = [field.name for field in schema if field.type == pa.list_(pa.string())]
    uncoded = UNIQUE_COLUMNS.union(deltas, lists)
    coded = [field.name for field in schema if field.name not in uncoded]
    flat = [field.name for field in schema if not pa.types.is_nested(field.type)]
    with folder.open_write(name, whole=whole) as stream:
        sealing = SealingSink(stream)
        gathered = pa.BufferedOutputStream(
            pa.PythonFile(cast(IOBase, sealing), mode="w"), _SINK_BYTES
        )
        try:
            with pq.ParquetWriter(
                gathered,
                schema,
                compression="zstd",
                compression_level=3,
                data_page_version="2.0",
                use_dictionary=cast(bool, [_leaf(schema, column) for column in coded] or False),
                column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
                write_statistics=[column for column in flat if column not in LARGE_COLUMNS],
                write_page_checksum=True,
            ) as sink:
                writer = TableWriter(sink, group_rows)
                yield writer
                writer.end_group()
                gathered.flush()
                sealing.begin_footer(sink)
            gathered.flush()
            sealing.end()
            writer.bytes = stream.tell()
        finally:
            gathered.detach()  # or it writes its rest when it is collected


def _leaf(schema: pa.Schema, column: str) -> str:
    """The name of the column as Parquet knows it: a map's dictionary is its keys', and what
    repeats in links is the element they were found in."""
    kind = schema.field(column).type
    if pa.types.is_map(kind):
        return f"{column}.key_value.key"
    return f"{column}.list.element.tag" if pa.types.is_list(kind) else column


class StoredTable(pq.ParquetFile):
    """A Parquet file of a crawl; its errors name the file."""

    def __init__(self, stream: IO[bytes], path: str, *, host_codes: bool = False) -> None:
        self._path = path
        try:
            footer = footer_of(stream)
            super().__init__(
                stream,
                read_dictionary=["host"] if host_codes else None,
                page_checksum_verification=True,
            )
            verify_footer(footer, self.metadata)
        except FileNotFoundError as error:
            raise DamagedFile(path, MISSING) from error
        except _FAULTS as error:
            raise DamagedFile(path, f"it is no whole Parquet file: {_line(error)}") from error

    def read_row_groups(self, row_groups: list[int], *args: Any, **options: Any) -> pa.Table:
        with self._naming_file(f", row group {', '.join(map(str, row_groups))}"):
            return super().read_row_groups(row_groups, *args, **options)

    def read(self, *args: Any, **options: Any) -> pa.Table:
        with self._naming_file(""):
            return super().read(*args, **options)

    def iter_batches(self, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        with self._naming_file(""):
            batches = iter(super().iter_batches(*args, **options))
        while True:
            with self._naming_file(""):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    @contextmanager
    def _naming_file(self, where: str) -> Iterator[None]:
        try:
            yield
        except _FAULTS as error:
            raise DamagedFile(f"{self._path}{where}", _line(error)) from error


_FAULTS = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError)
"""The exceptions that Arrow raises for a damaged file, whose numbers and texts may be anything."""


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def open_table(
    folder: Folder, name: str, *, host_codes: bool = False, size: int | None = None
) -> Iterator[StoredTable]:
    """Opens a Parquet file; `host_codes` reads the host column as dictionary codes. A store need
    not be asked for the file's size where a manifest tells it."""
    with ExitStack() as opened:
        try:
            stream = opened.enter_context(folder.open_read(name, size=size))
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise DamagedFile(folder.path(name), MISSING) from error
            raise
        yield StoredTable(stream, folder.path(name), host_codes=host_codes)


@contextmanager
def open_whole_table(folder: Folder, name: str) -> Iterator[StoredTable]:
    """Opens a Parquet file that is read from its beginning to its end: on a store by one request,
    where `open_table` needs one for the footer and more for the rows."""
    if folder.is_local():
        with open_table(folder, name) as table:
            yield table
        return
    data = folder.read(name)
    if data is None:
        raise DamagedFile(folder.path(name), MISSING)
    yield StoredTable(BytesIO(data), folder.path(name))


def read_groups(
    table: pq.ParquetFile, groups: list[int], columns: list[str] | None = None
) -> pa.Table:
    """The named row groups, in one thread: a task has one core."""
    return table.read_row_groups(groups, columns=columns, use_threads=False)


def each_group(table: pq.ParquetFile, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """The file's row groups one by one: memory stays bounded however long the file is."""
    for group in range(table.num_row_groups):
        yield read_groups(table, [group], columns)
