"""Segments made for tests, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.tables import PARSE_DATA as PARSE_DATA_TABLE
from crawl.storage.bucketed import write_bucketed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    GENERATE,
    PARSE,
    PARSE_DATA,
    PartFile,
    PartManifest,
    Segment,
)
from crawl.urls.parse import host_of

Records = Sequence[tuple[str, CrawlDatum]]
GROUP_ROWS = 3


def make_segment(
    directory: CrawlDir,
    name: str,
    *,
    generate: Records,
    fetch: Records | None = None,
    contents: Sequence[Content] | None = None,
    parse: Records | None = None,
    pages: Sequence[Mapping[str, Any]] | None = None,
    buckets: int = 4,
    complete: bool = True,
) -> Segment:
    """A segment with those parts that are given, in small row groups."""
    segment = directory.segments.segment(name)
    _write(segment, GENERATE, _table(generate))
    if fetch is not None:
        _write_bucketed(segment, FETCH, _table(fetch), buckets, complete=complete)
    if contents is not None:
        _write(segment, CONTENT, content_table(list(contents)))
    if parse is not None:
        _write_bucketed(segment, PARSE, _table(parse), buckets)
    if pages is not None:
        _write(segment, PARSE_DATA, _pages(pages))
    return segment


def _table(records: Records) -> pa.Table:
    return to_table((url, host_of(url) or "", datum) for url, datum in records)


def _pages(pages: Sequence[Mapping[str, Any]]) -> pa.Table:
    usual: dict[str, Any] = {
        **dict.fromkeys(PARSE_DATA_TABLE.names, ""),
        "status": "success",
        "mime_type": "text/html",
        "signature": None,
        "fetch_time": 0,
        "outlinks": [],
        "metadata": [],
    }
    rows = [{**usual, **page} for page in pages]
    return pa.Table.from_pylist(rows, schema=PARSE_DATA_TABLE.schema)


def link(url: str, anchor: str = "") -> dict[str, str]:
    """A row of the column `outlinks`."""
    return {"url": url, "anchor": anchor, "rel": "", "tag": "a"}


def _write(segment: Segment, part: str, table: pa.Table) -> None:
    """Two files, as two tasks write them."""
    folder = segment.part_folder(part)
    half = table.num_rows // 2
    files = []
    for number, rows in enumerate((table.slice(0, half), table.slice(half))):
        path = attempt_name(f"part-{number:05d}")
        with open_writer(folder, path, table.schema, GROUP_ROWS) as writer:
            writer.write(rows)
        files.append(PartFile(number, path, rows.num_rows, folder.size(path) or 0))
    segment.publish(part, PartManifest(tuple(files), 0))


def _write_bucketed(
    segment: Segment, part: str, table: pa.Table, buckets: int, *, complete: bool = True
) -> None:
    path = attempt_name("part-00000")
    piece = write_bucketed(segment.part_folder(part), path, table, buckets)
    files = (PartFile(0, piece.path, piece.rows, piece.bytes),)
    segment.publish(part, PartManifest(files, 0, complete))
