"""Files of the buckets of any table: a bucket written, or split into several.

The bucket of a row is the hash of the table's `bucket_by` column modulo their number. When
that number is multiplied, the rows of an old bucket go to new ones that get rows from nowhere
else, and stay in order: so a table grows without a shuffle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from crawl.model.tables import Table
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

    def new_path(self, bucket: int) -> str:
        """A path that no other attempt to write the bucket shares."""
        return f"{self.place}/{attempt_name(f'{self.stem}-{bucket:05d}')}"

    def file(self, bucket: int, path: str, rows: int) -> BucketFile:
        """The file as a manifest names it."""
        return BucketFile(bucket, path, rows, self.folder.size(path) or 0)


def write_bucket(target: BucketTarget, bucket: int, rows: Iterable[pa.Table]) -> BucketFile | None:
    """Writes a bucket's new file from tables in the order of the key, each row's key once;
    None where there is no row."""
    path = target.new_path(bucket)
    with open_writer(target.folder, path, target.table.schema, target.group_rows) as writer:
        for table in rows:
            writer.write(table)
    if writer.rows == 0:
        target.folder.delete(path)
        return None
    return target.file(bucket, path, writer.rows)


def split_bucket(target: BucketTarget, buckets: int, base: BucketFile) -> list[BucketFile]:
    """Writes the files of the buckets, of `buckets` in all, that an old one's rows belong to."""
    writers: dict[int, tuple[str, TableWriter]] = {}
    with ExitStack() as opened:
        source = opened.enter_context(open_table(target.folder, base.path))
        for rows in each_group(source):
            destinations = buckets_of(rows[target.table.bucket_by], buckets)
            for bucket in np.unique(destinations).tolist():
                if bucket not in writers:
                    path = target.new_path(bucket)
                    writer = opened.enter_context(
                        open_writer(target.folder, path, target.table.schema, target.group_rows)
                    )
                    writers[bucket] = path, writer
                writers[bucket][1].write(rows.filter(pa.array(destinations == bucket)))
    return [
        target.file(bucket, path, writer.rows) for bucket, (path, writer) in sorted(writers.items())
    ]


def stored_groups(folder: Folder, base: BucketFile | None) -> Iterator[pa.Table]:
    """The row groups of a bucket's present file, one by one; none where it has no file."""
    if base is not None:
        with open_table(folder, base.path) as source:
            yield from each_group(source)


class HasBase(Protocol):
    """A task that rewrites a bucket; None where it has no file yet."""

    @property
    def base(self) -> BucketFile | None: ...


BucketTask = TypeVar("BucketTask", bound=HasBase | BucketFile)


def largest_first(tasks: Iterable[BucketTask]) -> list[BucketTask]:
    """The order in which to start tasks, or to read files: by the rows of their bucket, so
    that the longest does not begin last."""

    def rows(task: HasBase | BucketFile) -> int:
        file = task if isinstance(task, BucketFile) else task.base
        return file.rows if file is not None else 0

    return sorted(tasks, key=rows, reverse=True)
