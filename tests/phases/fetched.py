"""Fetched segments made for tests, page by page; and parses read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.model.tables import CONTENT as CONTENT_TABLE
from crawl.model.tables import CRAWL_FETCH
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_table, open_writer
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    GENERATE,
    PARSE,
    PARSED,
    PartFile,
    PartManifest,
    Segment,
)
from crawl.urls.parse import host_of

NAME = "20261115093000"


def fetched_segment(
    directory: CrawlDir,
    files: Sequence[Sequence[Content]],
    name: str = NAME,
    *,
    group_rows: int = 3,
) -> Segment:
    """A segment that was fetched with exactly these pages, a content file a list."""
    segment = directory.segments.segment(name)
    written: dict[str, list[PartFile]] = {FETCH: [], CONTENT: []}
    for part, pages in enumerate(files):
        rows = to_table(
            (
                page.url,
                host_of(page.url) or "",
                CrawlDatum(Status(page.status or Status.FETCH_GONE), page.fetch_time),
            )
            for page in pages
        )
        tables = {
            FETCH: (rows, CRAWL_FETCH.schema),
            CONTENT: (content_table(list(pages)), CONTENT_TABLE.schema),
        }
        for table, (content, schema) in tables.items():
            folder, path = segment.part_folder(table), attempt_name(f"part-{part:05d}")
            with open_writer(folder, path, schema, group_rows) as writer:
                writer.write(content)
            written[table].append(PartFile(part, path, len(pages), folder.size(path) or 0))
    segment.publish(GENERATE, PartManifest((), 0))
    for table, parts in written.items():
        segment.publish(table, PartManifest(tuple(parts), 0))
    return segment


def parse_rows(segment: Segment, table: str) -> list[dict[str, Any]]:
    """All rows of a part, sorted; also checks that it has no file but those it names."""
    rows: list[dict[str, Any]] = []
    manifest = segment.require(table)
    for file in manifest.files:
        with open_table(segment.part_folder(table), file.path) as source:
            found = source.read().to_pylist()
        assert len(found) == file.rows
        rows += found
    return sorted(rows, key=str)


def rows_for_crawldb(segment: Segment) -> list[tuple[str, CrawlDatum]]:
    """The records of crawl_parse, sorted."""
    records: list[tuple[str, CrawlDatum]] = []
    for file in segment.require(PARSE).files:
        with open_table(segment.part_folder(PARSE), file.path) as source:
            records += to_records(source.read())
    return sorted(records, key=str)


def stray_files(segment: Segment) -> list[str]:
    """Files of a parse that no manifest names."""
    named = {
        f"{table}/{file.path}"
        for table in PARSED
        if (manifest := segment.manifest(table)) is not None
        for file in manifest.files
    }
    there = {
        f"{table}/{name}"
        for table in PARSED
        for name in segment.part_folder(table).names()
        if name.endswith(".parquet")
    }
    return sorted(there - named)
