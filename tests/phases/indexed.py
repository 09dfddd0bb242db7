"""Crawls whose pages are made by hand, parsed and indexed; and what the writers then have."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.derived_tables import INDEX
from crawl.model.status import Status
from crawl.phases.clean import run as clean
from crawl.phases.clean.options import CleanOptions
from crawl.phases.index import run as index
from crawl.phases.index.options import IndexOptions
from crawl.phases.index.state import IndexResult
from crawl.phases.index.tasks.outputs import noted_folder, noted_outputs
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.fetched import fetched_segment
from tests.phases.made import DAY, NOW, datum, make_crawldb

FILE_WRITERS = ("jsonl", "csv", "parquet", "tantivy")


@dataclass(frozen=True, slots=True)
class Page:
    """What a server says."""

    text: str = ""
    head: str = ""
    status: Status = Status.FETCH_SUCCESS

    @property
    def body(self) -> bytes:
        if self.status is not Status.FETCH_SUCCESS:
            return b""
        title = self.text.partition(" ")[0]
        return f"<html><head><title>{title}</title>{self.head}</head><body>{self.text}".encode()


GONE = Page(status=Status.FETCH_GONE)
MOVED = Page(status=Status.FETCH_REDIR_PERM)


class IndexedCrawl:
    """A crawl in a temporary folder, whose rounds are given."""

    def __init__(self, folder: Path, writers: str = "jsonl", **settings: object) -> None:
        self.address = str(folder / "crawl")
        self.directory: CrawlDir | None = None
        self.settings = {
            "index.writers": writers,
            "index.shards": 2,
            "db.signature.class": "text-md5",
            "scoring.filter.order": "opic",
            **{name.replace("__", "."): value for name, value in settings.items()},
        }
        self.rounds = 0

    @property
    def config(self) -> Config:
        return Config.of(self.settings)

    @property
    def crawl_dir(self) -> CrawlDir:
        return CrawlDir(self.address)

    def round(self, pages: Mapping[str, Page], *, update: bool = True) -> str:
        """Fetches these pages and parses them."""
        if self.rounds == 0:
            make_crawldb(self.address, {url: datum(fetch_time=NOW) for url in pages}, buckets=4)
        at = NOW + self.rounds * DAY
        self.rounds += 1
        contents = [
            Content(
                url,
                page.body,
                "text/html",
                200,
                at,
                headers={"content-type": "text/html", "content-length": str(len(page.body))},
                status=int(page.status),
            )
            for url, page in pages.items()
        ]
        name = f"2026111509300{self.rounds}"
        half = len(contents) // 2
        fetched_segment(self.crawl_dir, [contents[:half], contents[half:]], name)
        clock = ManualClock(at)
        parse.run(InProcess(), self.crawl_dir, self.config, ParseOptions(name), clock)
        if update:
            self.update(name)
        return name

    def update(self, name: str) -> None:
        """The CrawlDb takes in a segment."""
        clock = ManualClock(NOW + self.rounds * DAY)
        options = UpdateDbOptions((name,))
        updatedb.run(InProcess(), self.crawl_dir, self.config, options, clock)

    def set_records(self, changes: Mapping[str, Status | None]) -> None:
        """Gives records of the CrawlDb other statuses, or takes them out."""
        from crawl.model.records import to_table
        from crawl.model.report import Report
        from crawl.storage.layout import bucket_of
        from crawl.tables.bucket_files import crawldb_target, write_bucket
        from crawl.urls.parse import host_of
        from tests.phases.made import records_of

        kept: dict[str, CrawlDatum] = dict(records_of(self.crawl_dir))
        for url, status in changes.items():
            if status is None:
                del kept[url]
            else:
                old = kept[url]
                kept[url] = CrawlDatum(status, old.fetch_time, score=old.score)
        clock = ManualClock(NOW)
        with self.crawl_dir.writing_crawldb("test", self.config, clock) as transaction:
            assert transaction.base is not None
            buckets = transaction.base.buckets
            target = crawldb_target(transaction.folder, transaction.place, self.config)
            files: list[Any] = []
            for bucket in range(buckets):
                here = [
                    (url, host_of(url) or "", record)
                    for url, record in sorted(kept.items())
                    if bucket_of(host_of(url) or "", buckets) == bucket
                ]
                files += write_bucket(target, bucket, [to_table(here)] if here else [])
            transaction.publish(files, Report("test", 0, ""), buckets=buckets, keep=3)

    def index(self, *segments: str, **options: Any) -> IndexResult:
        chosen = IndexOptions(segments, **options)
        clock = ManualClock(NOW)
        return index.run(InProcess(), self.crawl_dir, self.config, chosen, clock)

    def clean(self, **options_: Any) -> IndexResult:
        options = CleanOptions(**options_)
        return clean.run(InProcess(), self.crawl_dir, self.config, options, ManualClock(NOW))

    def documents(self, writer: str = "jsonl") -> dict[str, dict[str, Any]]:
        return documents_of(self.crawl_dir, writer)


def committed_outputs(crawl_dir: CrawlDir, writer: str) -> list[str]:
    """The whole paths of what a writer has, a shard each."""
    output = noted_outputs(crawl_dir.dataset(INDEX).current())[writer]
    folder = noted_folder(crawl_dir, writer, output)
    return [folder.path(name) for name in output.names]


def documents_of(crawl_dir: CrawlDir, writer: str) -> dict[str, dict[str, Any]]:
    """The documents that a writer has, by URL; each once."""
    found: dict[str, dict[str, Any]] = {}
    for path in committed_outputs(crawl_dir, writer):
        for url, document in read_documents(path):
            assert url not in found, url
            found[url] = document
    return found


def read_documents(path: str) -> list[tuple[str, dict[str, Any]]]:
    """The documents of a file or folder of any writer."""
    if path.endswith(".parquet"):
        return [(row["url"], row) for row in pq.read_table(path).to_pylist()]
    if path.endswith((".jsonl", ".jsonl.gz")):
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if path.endswith(".gz") else raw).decode()
        return [(row["id"], row) for row in map(json.loads, text.splitlines())]
    if path.endswith(".csv"):
        with Path(path).open(newline="") as stream:
            return [(row["id"], dict(row)) for row in csv.DictReader(stream)]
    return _of_folder(path)


def _of_folder(path: str) -> list[tuple[str, dict[str, Any]]]:
    import tantivy

    from crawl.search.record import stored_record
    from crawl.search.writer import open_index

    searcher = open_index(path).searcher()
    hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs)).hits
    records = [stored_record(searcher.doc(address)) for _, address in hits]
    return [(each.url, {"title": each.title, "content": each.text}) for each in records]
