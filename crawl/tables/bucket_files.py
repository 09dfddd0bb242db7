"""Files of the buckets of any table: a bucket written, or split into several.

The bucket of a row is the hash of the table's `bucket_by` column modulo their number. When
that number is multiplied, the rows of an old bucket go to new ones that get rows from nowhere
else, and stay in order: so a table grows without a shuffle. A bucket of more rows than a file
may have gets several files, in the order of the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS, CRAWLDB_ROW_GROUP_SIZE
from crawl.counters import Counters
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import (
    DEFAULT_GROUP_ROWS,
    TableWriter,
    each_group,
    open_table,
    open_writer,
)


@dataclass(frozen=True, slots=True)
class BucketTarget:
    """Where the new files of a table's buckets go."""

    table: Table
    folder: Folder
    """The dataset's folder."""
    place: str
    """The place in the folder of the snapshot to be published (`Transaction.place`)."""
    group_rows: int = DEFAULT_GROUP_ROWS
    stem: str = "part"
    """How the names of the files begin."""
    file_rows: int = 0
    """The most rows of one file; 0: any number."""

    def new_path(self, bucket: int) -> str:
        """A path that no other attempt to write the bucket shares."""
        return f"{self.place}/{attempt_name(f'{self.stem}-{bucket:05d}')}"

    def rows_a_file(self, expected: int) -> int:
        """The most rows of each file, where so many are expected in all; 0: any number. They
        are dealt evenly: full files would grow a stump each whenever a row is added."""
        if not self.file_rows or self.table.schema.field(self.table.key[0]).type != pa.string():
            return 0
        files = -(-expected // self.file_rows)
        return self.file_rows if files <= 1 else -(-expected // files)


def crawldb_target(folder: Folder, place: str, config: Config) -> BucketTarget:
    """Where new files of the CrawlDb go."""
    return BucketTarget(
        CRAWLDB, folder, place, config[CRAWLDB_ROW_GROUP_SIZE], file_rows=config[CRAWLDB_FILE_ROWS]
    )


@dataclass(frozen=True, slots=True)
class WrittenBucket:
    """The new files of a bucket, or of a slice of one: none where no row is left."""

    files: tuple[BucketFile, ...]
    counters: Counters


class BucketWriter:
    """Writes rows of a bucket, given in the order of the key, to as many files as they need. In
    a `with` block that ends by a fault, the file being written is not made."""

    def __init__(self, target: BucketTarget, bucket: int, expected: int = 0) -> None:
        self._target = target
        self._bucket = bucket
        self._most = target.rows_a_file(expected)
        self._opened: AbstractContextManager[TableWriter] | None = None
        self._writer: TableWriter | None = None
        self._path = self._first = self._last = ""
        self.files: list[BucketFile] = []
        """Those that are whole."""

    def write(self, rows: pa.Table) -> None:
        while rows.num_rows:
            if self._writer is None:
                self._writer = self._open(rows)
            room = self._most - self._writer.rows if self._most else rows.num_rows
            here = min(room, rows.num_rows) if room > 0 else self._rows_of_last(rows)
            if here == 0:
                self._close()
                continue
            self._writer.write(rows.slice(0, here))
            self._last = rows[self._target.table.key[0]][here - 1].as_py()
            rows = rows.slice(here)

    def _rows_of_last(self, rows: pa.Table) -> int:
        """How many rows at the beginning must stay with the last one: all with its value."""
        if len(self._target.table.key) == 1:
            return 0
        same = pc.equal(rows[self._target.table.key[0]], pa.scalar(self._last))
        other = pc.index(same, pa.scalar(False)).as_py()
        return rows.num_rows if other < 0 else int(other)

    def _open(self, rows: pa.Table) -> TableWriter:
        target = self._target
        self._path = target.new_path(self._bucket)
        self._first = rows[target.table.key[0]][0].as_py()
        self._opened = open_writer(
            target.folder, self._path, target.table.schema, target.group_rows
        )
        return self._opened.__enter__()

    def _close(self) -> None:
        opened, writer = self._opened, self._writer
        assert opened is not None and writer is not None
        self._opened = self._writer = None
        opened.__exit__(None, None, None)
        first = self._first if self._target.file_rows else None
        self.files.append(BucketFile(self._bucket, self._path, writer.rows, writer.bytes, first))

    def __enter__(self) -> BucketWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *fault: Any) -> None:
        if self._opened is not None and kind is None:
            self._close()
        elif self._opened is not None:
            self._opened.__exit__(kind, *fault)


def write_bucket(
    target: BucketTarget, bucket: int, rows: Iterable[pa.Table], expected: int = 0
) -> tuple[BucketFile, ...]:
    """Writes a bucket's new files from tables in the order of the key, each row's key once;
    none where there is no row. At most `expected` rows, or 0 where nobody can tell."""
    with BucketWriter(target, bucket, expected) as writer:
        for table in rows:
            writer.write(table)
    return tuple(writer.files)


def split_file(target: BucketTarget, buckets: int, base: BucketFile) -> list[BucketFile]:
    """Writes the files of the buckets, of `buckets` in all, that the rows of an old one's file
    belong to. Those of several files of a bucket fit behind each other."""
    writers: dict[int, BucketWriter] = {}
    with ExitStack() as opened:
        source = opened.enter_context(open_table(target.folder, base.path, size=base.bytes))
        for rows in each_group(source):
            destinations = buckets_of(rows[target.table.bucket_by], buckets)
            for bucket in np.unique(destinations).tolist():
                if bucket not in writers:
                    writers[bucket] = opened.enter_context(BucketWriter(target, bucket))
                writers[bucket].write(rows.filter(pa.array(destinations == bucket)))
    return [file for _, writer in sorted(writers.items()) for file in writer.files]


def stored_groups(
    folder: Folder, files: Sequence[BucketFile], columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """The row groups of a bucket's present files, one by one."""
    for file in files:
        with open_table(folder, file.path, size=file.bytes) as source:
            yield from each_group(source, columns)


class HasRows(Protocol):
    """A file, or a task that works on so many rows."""

    @property
    def rows(self) -> int: ...


Sized = TypeVar("Sized", bound=HasRows)


def largest_first(tasks: Iterable[Sized]) -> list[Sized]:
    """The order in which to start tasks, or to read files: by their rows, so that the longest
    does not begin last."""
    return sorted(tasks, key=lambda task: task.rows, reverse=True)
