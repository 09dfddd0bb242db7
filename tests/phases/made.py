"""CrawlDbs made for tests, record by record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.storage.bucketed import write_bucketed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import FETCH, GENERATE, PARSE, PartFile, PartManifest, Segment
from crawl.tables.bucket_files import crawldb_target, write_bucket
from crawl.urls.parse import host_of

NOW = 1_800_000_000_000
DAY = 86_400_000


def datum(**changes: Any) -> CrawlDatum:
    """A record that is due, with whatever matters to the test."""
    usual: dict[str, Any] = {
        "status": Status.DB_UNFETCHED,
        "fetch_time": NOW - DAY,
        "fetch_interval": 2_592_000,
        "score": 1.0,
    }
    return CrawlDatum(**{**usual, **changes})


def make_crawldb(
    address: str,
    records: Mapping[str, CrawlDatum],
    *,
    buckets: int = 4,
    group_rows: int = 7,
    clock: Clock | None = None,
) -> CrawlDir:
    """A crawl whose CrawlDb holds exactly these records, in small row groups."""
    directory = CrawlDir(address)
    config = Config()
    placed: dict[int, list[tuple[str, str, CrawlDatum]]] = {}
    for url in sorted(records, key=str.encode):
        host = host_of(url) or ""
        placed.setdefault(bucket_of(host, buckets), []).append((url, host, records[url]))
    with directory.writing_crawldb("test", config, clock or SystemClock()) as transaction:
        target = crawldb_target(transaction.folder, transaction.place, config)
        target = replace(target, group_rows=group_rows)
        files = [
            file
            for bucket, rows in placed.items()
            for file in write_bucket(target, bucket, [to_table(rows)], len(rows))
        ]
        transaction.publish(files, Report("test", NOW, ""), buckets=buckets, keep=3)
    return directory


SegmentRows = Sequence[tuple[str, CrawlDatum]]
"""Rows of a segment's table, URLs repeated as may be."""


def make_segment(
    directory: CrawlDir,
    name: str,
    fetch: SegmentRows | None = None,
    parse: SegmentRows | None = None,
    *,
    complete: bool = True,
    buckets: int = 4,
    files: int = 2,
) -> Segment:
    """A segment as generate, fetch and parse would leave it; None: that was not done."""
    segment = directory.segments.segment(name)
    segment.publish(GENERATE, PartManifest((), NOW))
    for part, records in ((FETCH, fetch), (PARSE, parse)):
        if records is None:
            continue
        written = []
        for number in range(files):
            rows = [(url, host_of(url) or "", each) for url, each in records[number::files]]
            path = attempt_name(f"part-{number:05d}")
            piece = write_bucketed(segment.part_folder(part), path, to_table(rows), buckets)
            written.append(PartFile(number, piece.path, piece.rows, piece.bytes))
        segment.publish(part, PartManifest(tuple(written), NOW, complete))
    return segment


def records_of(directory: CrawlDir) -> dict[str, CrawlDatum]:
    """Every record of the current CrawlDb; also checks what every snapshot promises."""
    snapshot = directory.require_crawldb()
    found: dict[str, CrawlDatum] = {}
    before: tuple[int, bytes] = -1, b""
    for file in snapshot.files:
        with open_table(directory.crawldb.folder, file.path) as source:
            table = pa.concat_tables([CRAWLDB.schema.empty_table(), *each_group(source)])
        urls = strings(table["url"])
        assert urls == sorted(set(urls), key=str.encode), "a bucket is sorted and unique"
        assert len(urls) == file.rows > 0
        assert before < (file.bucket, urls[0].encode()), "files of a bucket lie in order"
        assert file.first in (None, urls[0])
        before = file.bucket, urls[-1].encode()
        for url, host in zip(urls, strings(table["host"]), strict=True):
            assert host == (host_of(url) or "")
            assert bucket_of(host, snapshot.buckets) == file.bucket
        found.update(to_records(table))
    return found


def fetch_lists(directory: CrawlDir, name: str) -> list[list[tuple[str, CrawlDatum]]]:
    """The parts of a segment's fetch list, in their order."""
    segment = directory.segments.segment(name)
    parts = []
    for file in segment.require(GENERATE).files:
        with open_table(segment.part_folder(GENERATE), file.path) as source:
            rows = list(to_records(source.read()))
        assert len(rows) == file.rows
        parts.append(rows)
    return parts


def urls_of(directory: CrawlDir, names: Iterable[str]) -> list[str]:
    """All URLs of these segments' fetch lists."""
    return [url for name in names for part in fetch_lists(directory, name) for url, _ in part]
