"""URLs on the fetch lists of unfinished segments: they are being fetched, or will be; and those on
lists that are not to be fetched twice.

A list is no slice's: its URLs are sent to their slices first, by a task for each of its files.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

import pyarrow as pa

from crawl.model.arrow import required_schema
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_whole_table
from crawl.storage.segments import GENERATE, Segment, is_of_service
from crawl.tables.exchange import Outbox, RowKind
from crawl.tables.slices import Router

_URLS = required_schema({"url": pa.string()})
LISTED = RowKind("listed", _URLS)
NOT_AGAIN = RowKind("not_again", _URLS)
"""URLs of segments that are finished, or to be: they are not to be selected once more."""


@dataclass(frozen=True, slots=True)
class ListFile:
    """A file of a segment's crawl_generate."""

    folder: Folder
    path: str
    kind: RowKind = LISTED


def unfinished_segments(
    segments: Iterable[Segment], applied: Container[str], now_ms: int, reserved_ms: int
) -> list[Segment]:
    """The segments that the CrawlDb has not taken in and that are not so old as to be given up."""
    return [
        segment
        for segment in segments
        if segment.name not in applied and not is_of_service(segment.name)
        if (manifest := segment.manifest(GENERATE)) is not None
        if manifest.created_ms + reserved_ms > now_ms
    ]


def list_files(segments: Iterable[Segment], kind: RowKind = LISTED) -> list[ListFile]:
    return [
        ListFile(segment.part_folder(GENERATE), file.path, kind)
        for segment in segments
        for file in segment.require(GENERATE).files
    ]


def send_list(router: Router, file: ListFile, outbox: Outbox) -> None:
    """Sends the list's URLs to the CrawlDb's slices."""
    with open_whole_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "host"]):
            slices = router.slices_of(rows["host"], rows["url"])
            outbox.send(file.kind, rows.select(["url"]), slices)
