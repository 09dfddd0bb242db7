"""URLs on the fetch lists of unfinished segments: they are being fetched, or will be.

A list is no bucket's: its URLs are split by bucket first, in a task for each of its files.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

import pyarrow as pa

from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import GENERATE, Segment
from crawl.storage.split import SplitFile, scratch_name, write_split

LISTED = pa.schema([pa.field("url", pa.string(), False)])


@dataclass(frozen=True, slots=True)
class ListFile:
    """A file of a segment's crawl_generate."""

    folder: Folder
    path: str


def unfinished_segments(
    segments: Iterable[Segment], applied: Container[str], now_ms: int, reserved_ms: int
) -> list[Segment]:
    """The segments that the CrawlDb has not taken in and that are not so old as to be given up."""
    found = []
    for segment in segments:
        listed = None if segment.name in applied else segment.manifest(GENERATE)
        if listed is not None and listed.created_ms + reserved_ms > now_ms:
            found.append(segment)
    return found


def list_files(segments: Iterable[Segment]) -> list[ListFile]:
    return [
        ListFile(segment.part_folder(GENERATE), file.path)
        for segment in segments
        for file in segment.require(GENERATE).files
    ]


def split_list(scratch: Folder, buckets: int, file: ListFile) -> SplitFile:
    """The list's URLs, by the CrawlDb's buckets."""
    with open_table(file.folder, file.path) as source:
        columns = ["url", "host"]
        rows = pa.concat_tables(
            [source.schema_arrow.empty_table().select(columns), *each_group(source, columns)]
        )
    destinations = buckets_of(rows["host"], buckets)
    urls = rows.select(["url"]).cast(LISTED)
    return write_split(scratch, scratch_name("listed"), urls, destinations)
