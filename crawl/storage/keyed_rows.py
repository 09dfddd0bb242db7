"""Rows of a small dataset by key, for tasks that need those of their own hosts alone.

The datasets that are read so are caches. What is damaged or was swept away meanwhile is as if
it had never been known; a line in the log says so.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import StorageError
from crawl.model.table import Table
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.parquet import open_table, read_groups
from crawl.storage.scan import scan_file
from crawl.storage.snapshot import Dataset

_THREADS = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """One snapshot of a dataset; a plain value that can be pickled."""

    table: Table
    folder: Folder
    snapshot: Snapshot

    @classmethod
    def current(cls, dataset: Dataset) -> KeyedRows | None:
        """Those of the dataset's current state; None where there is none that can be read."""
        assert dataset.table is not None
        try:
            snapshot = dataset.current()
        except StorageError as error:
            _log.warning("%s; nothing is known of %s", error, dataset.name)
            return None
        return None if snapshot is None else cls(dataset.table, dataset.folder, snapshot)

    def of_places(self, places: Collection[str]) -> Iterator[pa.Table]:
        """The rows whose bucket column has one of these values, from no buckets but theirs."""
        by_bucket: dict[int, list[str]] = {}
        for place in places:
            by_bucket.setdefault(bucket_of(place, self.snapshot.buckets), []).append(place)
        files = [file for file in self.snapshot.files if file.bucket in by_bucket]
        with ThreadPoolExecutor(_THREADS) as pool:
            for tables in pool.map(partial(self._rows_in, by_bucket), files):
                yield from tables

    def of_bucket(self, bucket: int) -> list[pa.Table]:
        """All rows of a bucket."""
        files = self.snapshot.files_of(bucket)
        return [rows for file in files for rows in self._read(file, None)]

    def bucket_of(self, place: str) -> int:
        """The bucket in which a value of the bucket column is."""
        return bucket_of(place, self.snapshot.buckets)

    def row(self, key: str, place: str) -> pa.Table | None:
        """The row of one key; None where there is none."""
        file = self.snapshot.file_for(self.bucket_of(place), key)
        if file is None:
            return None
        try:
            condition = (self.table.key[0], "=", key)
            names = self.table.names
            for rows in scan_file(self.folder, file.path, names, [condition], size=file.bytes):
                return rows.slice(0, 1)
        except StorageError as error:
            _log.warning("%s; nothing is known of what it held", error)
        return None

    def _rows_in(self, by_bucket: dict[int, list[str]], file: BucketFile) -> list[pa.Table]:
        return self._read(file, pa.array(by_bucket[file.bucket], pa.string()))

    def _read(self, file: BucketFile, places: pa.StringArray | None) -> list[pa.Table]:
        column = self.table.bucket_by
        tables = []
        try:
            with open_table(self.folder, file.path, size=file.bytes) as source:
                for group in range(source.num_row_groups):
                    if places is None:
                        tables.append(read_groups(source, [group], self.table.names))
                        continue
                    mask = pc.is_in(read_groups(source, [group], [column])[column], places)
                    if pc.any(mask).as_py():
                        rows = read_groups(source, [group], self.table.names)
                        tables.append(rows.filter(mask))
        except StorageError as error:
            _log.warning("%s; nothing is known of what it held", error)
        return tables
