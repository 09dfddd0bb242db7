"""Reads a shard's ledger: which documents each index writer has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.sent_notes import UnsettledUrls
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_table
from crawl.storage.scan import Condition, scan_file

_SEGMENT = "segment"
_OF_URLS = ["url", "version", _SEGMENT]


def known_writers(folder: Folder, file: BucketFile | None) -> set[str]:
    """The writers that the ledger has rows of."""
    if file is None:
        return set()
    return {
        str(writer)
        for rows in scan_file(folder, file.path, ["writer"], [])
        for writer in pc.unique(rows["writer"]).to_pylist()
    }


def ledger_of(folder: Folder, file: BucketFile | None, writer: str) -> Iterator[pa.Table]:
    """The rows of one writer, in order."""
    if file is not None:
        for rows in _scanned(folder, file, INDEX.names, [("writer", "=", writer)]):
            yield rows.select(INDEX.names).cast(INDEX.schema)


def ledger_urls(
    folder: Folder,
    file: BucketFile | None,
    unsettled: Iterable[UnsettledUrls] = (),
    *,
    only: pa.Array[Any] | None = None,
) -> pa.Table:
    """The URLs of a shard's ledger, and those that dead jobs may have sent, each once, with the
    newest version of any writer and the segment of its parse; of all, or `only` of these."""
    tables = [pa.schema([INDEX.schema.field(name) for name in _OF_URLS]).empty_table()]
    if file is not None:
        for rows in _scanned(folder, file, _OF_URLS, []):
            tables.append(rows if only is None else rows.filter(pc.is_in(rows["url"], only)))
    for each in unsettled:
        for rows in each.tables():
            tables.append(_without_segment(rows))
    grouped = (
        pa.concat_tables([rows.cast(tables[0].schema) for rows in tables])
        .group_by("url")
        .aggregate([("version", "max"), ("segment", "max")])
    )
    return grouped.rename_columns(_OF_URLS)


def _scanned(
    folder: Folder, file: BucketFile, columns: Sequence[str], conditions: Sequence[Condition]
) -> Iterator[pa.Table]:
    """Rows of a ledger; also of one that was written when it did not name segments yet."""
    with open_table(folder, file.path) as source:
        names_segments = _SEGMENT in source.schema_arrow.names
    if names_segments:
        yield from scan_file(folder, file.path, columns, conditions)
        return
    there = [column for column in columns if column != _SEGMENT]
    for rows in scan_file(folder, file.path, there, conditions):
        yield _without_segment(rows)


def _without_segment(rows: pa.Table) -> pa.Table:
    """Rows of which nobody knows where the parse lies."""
    return rows.append_column(_SEGMENT, pa.repeat(pa.scalar(""), rows.num_rows))
