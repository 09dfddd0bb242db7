"""A segment output whose clock, counters and log belong to the test."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pyarrow.parquet as pq

from crawl.counters import Counters
from crawl.fetcher.output.journal import Journal
from crawl.fetcher.output.segment_output import ChunkSize, SegmentOutput
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.storage.chunks import Chunk, ChunkLog
from crawl.storage.folder import Folder
from crawl.testing.clock import ManualClock
from tests.fetcher.small_web import DUE

BUCKETS = 4


def url_of(number: int) -> str:
    return f"http://a.org/{number}"


def record(number: int, body: bytes | None = None) -> FetchRecord:
    url = url_of(number)
    content = None if body is None else Content(url, body, headers={"a": "1"})
    return FetchRecord(url, "a.org", DUE, content)


class Made:
    """An output with a clock, counters and a log that the test owns."""

    def __init__(self, folder: Path | str, size: ChunkSize) -> None:
        self.segment = Folder(str(folder))
        self.clock = ManualClock()
        self.counters = Counters()
        self.log = ChunkLog(self.segment, 2)
        self.log.claim(0)
        self.output = SegmentOutput(
            self.segment,
            2,
            self.log,
            size,
            BUCKETS,
            counters=self.counters,
            monotonic=self.clock.monotonic,
        )

    def add(self, *records: FetchRecord) -> None:
        """The records of one answer."""
        for each in records:
            self.counters["records"] += 1
            self.output.add(each)
        self.tick()

    def tick(self) -> None:
        self.output.commit_point(self.clock.monotonic())

    def committed(self) -> list[list[str]]:
        """The URLs of each chunk."""
        self.settle()
        return [
            self.read("crawl_fetch", chunk.pieces["crawl_fetch"].path)
            for chunk in ChunkLog(self.segment, 2).committed()
        ]

    def settle(self) -> None:
        """Waits until the threads have nothing to do."""
        for each in (
            self.output._journal_writer._work,
            *self.output._batches,
            self.output._commit_under_way,
        ):
            if each is not None:
                each.result()

    def notes(self) -> list[list[str]]:
        """The URLs of each note that a chunk does not contain."""
        self.settle()
        contained = [name for chunk in self.marked() for name in chunk.notes]
        left = Journal(self.segment, 2, "another").uncommitted_notes(contained.__contains__)
        return [[each.url for each in note.records] for notes in left.values() for note in notes]

    def files(self) -> list[str]:
        """The files of the journal."""
        self.settle()
        return self.segment.names("crawl_fetch/journal/part-00002")

    def marked(self) -> list[Chunk]:
        return ChunkLog(self.segment, 2).committed()

    def read(self, table: str, path: str) -> list[str]:
        rows = pq.read_table(self.segment.child(table).path(path))
        return cast(list[str], rows["url"].to_pylist())
