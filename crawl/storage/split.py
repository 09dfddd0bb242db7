"""Rows split by their destination as they are written: the shuffle, paid in passing.

A task writes one file whose row groups each belong to one destination (a bucket, a
fetch-list part); whoever builds a destination reads only its row groups from each file.
Few files, no listing, and any file system will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table, open_writer, read_groups

_ONE_GROUP = 1 << 30
"""More rows than any destination has in one file, so that each is one row group."""


@dataclass(frozen=True, slots=True)
class SplitFile:
    """A file and the rows in it for each destination."""

    path: str
    rows: dict[int, int]
    """Rows by destination, in the order of the file's row groups."""


def write_split(
    folder: Folder, path: str, table: pa.Table, destinations: npt.NDArray[np.integer]
) -> SplitFile:
    """Writes the rows grouped by destination; within one they keep their order."""
    order = np.argsort(destinations, kind="stable")
    numbers, starts = np.unique(destinations[order], return_index=True)
    ends = np.append(starts, len(order))[1:]
    rows: dict[int, int] = {}
    with open_writer(folder, path, table.schema, _ONE_GROUP) as writer:
        for number, start, end in zip(numbers, starts, ends, strict=True):
            writer.write(table.take(pa.array(order[start:end])))
            rows[int(number)] = writer.end_group()
    return SplitFile(path, rows)


def read_split(
    folder: Folder, files: Sequence[SplitFile], destination: int, schema: pa.Schema
) -> pa.Table:
    """All rows for one destination, in the order of the files."""
    tables = [schema.empty_table()]
    for file in files:
        if destination in file.rows:
            group = list(file.rows).index(destination)
            with open_table(folder, file.path) as source:
                tables.append(read_groups(source, [group]))
    return pa.concat_tables(tables)


def destinations_of(files: Sequence[SplitFile]) -> dict[int, list[SplitFile]]:
    """For each destination, the files that hold rows for it."""
    found: dict[int, list[SplitFile]] = {}
    for file in files:
        for destination in file.rows:
            found.setdefault(destination, []).append(file)
    return found
