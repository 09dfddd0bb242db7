"""What segments hold of one URL: in fetch lists, among answers, parses and links.

Only the URL column is read of rows that are not the URL's, and of tables that lie bucket by
bucket only the URL's own bucket; page bodies are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, equals, strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.model.tables import CONTENT as CONTENT_TABLE
from crawl.model.tables import CRAWLDB
from crawl.model.tables import PARSE_DATA as PARSE_DATA_TABLE
from crawl.storage.bucketed import read_bucket
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import open_table, read_groups
from crawl.storage.segments import CONTENT, FETCH, GENERATE, PARSE, PARSE_DATA, Segment
from crawl.tables.lookup import may_hold
from crawl.urls.parse import host_of

_LARGE = frozenset(("content", "request_headers", "response_headers"))
_LINK_COLUMNS = ["url", "outlinks.list.element.url", "outlinks.list.element.anchor"]


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """What one part of a segment holds of the URL."""

    segment: str
    part: str
    records: tuple[CrawlDatum, ...] = ()
    """Records of crawl_generate, crawl_fetch and crawl_parse; of links only the best-scored."""
    links: int = 0
    """How many pages link to the URL, by crawl_parse."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Values of content and parse_data by column."""


@dataclass(frozen=True, slots=True)
class Inlink:
    """A page that links to the URL."""

    segment: str
    url: str
    anchor: str


def find_in_segment(segment: Segment, url: str, buckets: int) -> Iterator[SegmentEntry]:
    """What every part of the segment holds of the URL, in the order of a round; `buckets` is
    the CrawlDb's number of them."""
    for part in (GENERATE, FETCH, CONTENT, PARSE_DATA, PARSE):
        entry = _entry_of(segment, part, url, buckets)
        if entry is not None:
            yield entry


def find_inlinks(segment: Segment, url: str, most: int) -> list[Inlink]:
    """The first pages of the segment, up to so many, that have kept a link to the URL."""
    manifest = segment.manifest(PARSE_DATA)
    inlinks: list[Inlink] = []
    for file in manifest.files if manifest else ():
        with open_table(segment.part_folder(PARSE_DATA), file.path, size=file.bytes) as source:
            for group in range(source.num_row_groups):
                if len(inlinks) >= most:
                    return inlinks[:most]
                inlinks += _links_to(url, read_groups(source, [group], _LINK_COLUMNS), segment.name)
    return inlinks[:most]


def _links_to(url: str, pages: pa.Table, segment: str) -> list[Inlink]:
    outlinks = cast("pa.ListArray[Any]", as_array(pages["outlinks"]))
    links = cast("pa.StructArray", outlinks.flatten())
    hits = equals(links.field("url"), url)
    owners = pc.list_parent_indices(outlinks).filter(hits)
    return [
        Inlink(segment, source, anchor)
        for source, anchor in zip(
            strings(pages["url"].take(owners)),
            strings(links.field("anchor").filter(hits)),
            strict=True,
        )
    ]


def _entry_of(segment: Segment, part: str, url: str, buckets: int) -> SegmentEntry | None:
    manifest = segment.manifest(part)
    if manifest is None:
        return None
    folder = segment.part_folder(part)
    paths = [file.path for file in manifest.files]
    if part in (FETCH, PARSE):
        bucket = bucket_of(host_of(url) or "", buckets)
        tables = [_bucket_rows(folder, path, url, bucket, buckets) for path in paths]
        return _of_records(segment.name, part, tables)
    if part == GENERATE:
        tables = [_rows(folder, path, url) for path in paths]
        return _of_records(segment.name, part, tables)
    table = CONTENT_TABLE if part == CONTENT else PARSE_DATA_TABLE
    columns = [name for name in table.names if name not in _LARGE]
    for path in paths:
        rows = _rows(folder, path, url, columns)
        if rows.num_rows:
            return SegmentEntry(segment.name, part, facts=_facts(rows.slice(0, 1)))
    return None


def _of_records(segment: str, part: str, tables: list[pa.Table]) -> SegmentEntry | None:
    records = [datum for table in tables for _, datum in to_records(table)]
    if not records:
        return None
    linked = [datum for datum in records if datum.status is Status.LINKED]
    if part != PARSE:
        return SegmentEntry(segment, part, tuple(records))
    best = [max(linked, key=lambda datum: datum.score)] if linked else []
    others = [datum for datum in records if datum.status is not Status.LINKED]
    return SegmentEntry(segment, part, (*others, *best), links=len(linked))


def _facts(row: pa.Table) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in row.column_names:
        value = row[name][0]
        if name == "outlinks":
            facts["outlinks"] = len(value.as_py() or ())
        elif pa.types.is_map(row[name].type):
            facts[name] = dict(value.as_py() or ())
        elif pa.types.is_timestamp(row[name].type):
            facts[name] = row[name].cast(pa.int64())[0].as_py()
        elif name != "url":
            facts[name] = value.as_py()
    return facts


def _bucket_rows(folder: Folder, path: str, url: str, bucket: int, buckets: int) -> pa.Table:
    """The URL's rows of a file that may lie bucket by bucket."""
    urls = read_bucket(folder, path, bucket, buckets, ["url"])["url"]
    if pc.index(urls, pa.scalar(url)).as_py() < 0:
        return CRAWLDB.schema.empty_table()
    rows = read_bucket(folder, path, bucket, buckets)
    return rows.filter(equals(rows["url"], url))


def _rows(folder: Folder, path: str, url: str, columns: list[str] | None = None) -> pa.Table:
    """The URL's rows of a file in any order."""
    with open_table(folder, path) as source:
        place = source.schema_arrow.get_field_index("url")
        rows = [read_groups(source, [], columns)]
        for group in range(source.num_row_groups):
            if not may_hold(source.metadata.row_group(group).column(place), url):
                continue
            hits = equals(read_groups(source, [group], ["url"])["url"], url)
            if pc.any(hits).as_py():
                rows.append(read_groups(source, [group], columns).filter(hits))
        return pa.concat_tables(rows)
