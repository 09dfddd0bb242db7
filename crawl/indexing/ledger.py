"""Reads a shard's ledger: which documents each index writer has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.indexing.sent_notes import UnsettledUrls
from crawl.model.derived_tables import INDEX
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.scan import scan_file

_OF_URLS = ["url", "version", "segment"]


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
        for rows in scan_file(folder, file.path, INDEX.names, [("writer", "=", writer)]):
            yield rows.cast(INDEX.schema)


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
        for rows in scan_file(folder, file.path, _OF_URLS, []):
            tables.append(rows if only is None else rows.filter(pc.is_in(rows["url"], only)))
    for each in unsettled:
        for rows in each.tables():
            tables.append(rows.append_column("segment", pa.repeat(pa.scalar(""), rows.num_rows)))
    grouped = (
        pa.concat_tables([rows.cast(tables[0].schema) for rows in tables])
        .group_by("url")
        .aggregate([("version", "max"), ("segment", "max")])
    )
    return grouped.rename_columns(_OF_URLS)
