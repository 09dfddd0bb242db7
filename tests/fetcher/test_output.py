from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.output import ChunkSize, Output
from crawl.fetcher.record import FetchRecord
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.model.tables import CONTENT, CRAWL_FETCH
from crawl.storage.bucketed import read_bucket
from crawl.storage.chunks import ChunkLog
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

    def __init__(self, folder: Path, size: ChunkSize) -> None:
        self.segment = Folder(str(folder))
        self.clock = ManualClock()
        self.counters = Counters()
        self.log = ChunkLog(self.segment, 2)
        self.log.claim(0)
        self.output = Output(
            self.segment, 2, self.log, size, BUCKETS, lambda: Counters(self.counters)
        )

    def add(self, *records: FetchRecord) -> None:
        """The records of one answer."""
        for each in records:
            self.counters["records"] += 1
            self.output.add(each)
        self.tick()

    def tick(self) -> None:
        self.output.tick(self.clock.monotonic())

    def committed(self) -> list[list[str]]:
        """The URLs of each chunk."""
        self.settle()
        return [
            self.read("crawl_fetch", chunk.pieces["crawl_fetch"].path)
            for chunk in ChunkLog(self.segment, 2).committed()
        ]

    def settle(self) -> None:
        """Until the thread has nothing to do."""
        for each in (*self.output._waiting, self.output._closing):
            if each is not None:
                each.result()

    def notes(self) -> list[str]:
        self.settle()
        return self.segment.names("crawl_fetch/journal/part-00002")

    def read(self, table: str, path: str) -> list[str]:
        urls: list[str] = pq.read_table(self.segment.child(table).path(path))["url"].to_pylist()
        return urls


@pytest.mark.parametrize("records", [1, 2, 3, 7, 100])
def test_every_record_is_committed_once(tmp_path: Path, records: int) -> None:
    made = Made(tmp_path, ChunkSize(records=records))
    for number in range(20):
        made.add(record(number, b"x" if number % 2 else None))
    made.output.close()
    chunks = made.committed()
    numbers = range(20)
    assert sorted(url for chunk in chunks for url in chunk) == sorted(map(url_of, numbers))
    assert all(len(chunk) == records for chunk in chunks[:-1])
    told = ChunkLog(made.segment, 2).committed()
    assert sum(chunk.counters["records"] for chunk in told) == 20
    for chunk, urls in zip(told, chunks, strict=True):
        assert chunk.counters == {"records": len(urls)}
        assert chunk.pieces["crawl_fetch"].rows == len(urls)
        pages = [url for url in urls if int(url[-1]) % 2]
        piece = chunk.pieces.get("content")
        assert sorted(made.read("content", piece.path) if piece else []) == pages


def test_the_tables_are_as_they_are_defined(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    made.add(record(1, b"<html>"))
    made.output.close()
    (chunk,) = ChunkLog(made.segment, 2).committed()
    for name, table in (("crawl_fetch", CRAWL_FETCH), ("content", CONTENT)):
        piece = chunk.pieces[name]
        path = tmp_path / name / piece.path
        assert pq.read_schema(path).equals(table.schema)
        assert piece.bytes == path.stat().st_size


def test_a_chunk_is_full_by_its_content_too(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(bytes=100))
    made.add(record(1, b"x" * 99))
    assert made.committed() == []
    made.add(record(2, b"x"))
    assert [len(chunk) for chunk in made.committed()] == [2]
    made.add(record(3, b"x" * 1000))
    assert [len(chunk) for chunk in made.committed()] == [2, 1]


def test_no_record_waits_for_longer_than_it_may(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(seconds=60))
    made.clock.advance(1000)
    made.tick()
    made.add(record(1))
    made.clock.advance(59.9)
    made.tick()
    assert made.committed() == []
    made.clock.advance(0.1)
    made.tick()
    assert made.committed() == [["http://a.org/1"]]
    made.clock.advance(1000)
    made.tick()
    assert len(made.committed()) == 1


def test_the_records_of_one_answer_stay_together(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=3))
    made.add(record(1))
    made.add(record(2))
    made.add(record(3), record(4))
    assert [len(chunk) for chunk in made.committed()] == [4]


def test_a_flood_within_one_answer_is_cut(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=3))
    made.add(*(record(number) for number in range(20)))
    made.output.close()
    assert max(len(chunk) for chunk in made.committed()) <= 6
    assert sum(len(chunk) for chunk in made.committed()) == 20


def test_what_cannot_be_written_is_told_at_the_next_chunk_or_the_end(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=1))
    ChunkLog(made.segment, 2).claim(1)
    made.add(record(1))
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        made.add(record(2))
    other = Made(tmp_path / "b", ChunkSize())
    ChunkLog(other.segment, 2).claim(1)
    other.add(record(1))
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        other.output.close()


def test_nothing_added_is_nothing_written(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    made.tick()
    made.output.close()
    assert made.committed() == []
    assert not (tmp_path / "content").exists()


def test_the_size_comes_from_the_configuration() -> None:
    assert ChunkSize.of(Config()) == ChunkSize()
    config = Config.of(
        {
            "fetcher.checkpoint.records": 7,
            "fetcher.checkpoint.bytes": "1MiB",
            "fetcher.checkpoint.seconds": "2min",
        }
    )
    assert ChunkSize.of(config) == ChunkSize(7, 1 << 20, 120.0, 1.0)


def test_crawl_fetch_lies_bucket_by_bucket(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    hosts = [f"h{number}.org" for number in range(20)]
    made.add(*(FetchRecord(f"http://{host}/", host, DUE) for host in hosts))
    made.output.close()
    (chunk,) = ChunkLog(made.segment, 2).committed()
    folder, path = made.segment.child("crawl_fetch"), chunk.pieces["crawl_fetch"].path
    found = [read_bucket(folder, path, number, BUCKETS)["host"] for number in range(BUCKETS)]
    assert sorted(host for each in found for host in each.to_pylist()) == sorted(hosts)
    assert pq.ParquetFile(folder.path(path)).metadata.metadata[b"nutria.buckets"]


def test_what_waits_is_noted_and_whoever_goes_on_commits_it(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(journal_seconds=1.0))
    made.add(record(1, b"one"), record(2))
    made.clock.advance(0.9)
    made.add(record(3))
    assert made.notes() == []
    made.clock.advance(0.1)
    made.tick()
    assert len(made.notes()) == 1
    made.add(record(4))  # never noted: it is lost with the task
    assert made.committed() == []

    after = Made(tmp_path, ChunkSize())
    fetched: set[str] = set()
    assert after.output.take_over(fetched, set())
    assert fetched == {url_of(number) for number in (1, 2, 3)}
    assert after.committed() == [[url_of(1), url_of(2), url_of(3)]]
    (chunk,) = ChunkLog(after.segment, 2).committed()
    assert chunk.counters == {"records": 3}
    assert made.read("content", chunk.pieces["content"].path) == [url_of(1)]
    assert after.notes() == []
    assert not after.output.take_over(fetched, set(chunk.notes))


def test_a_chunk_takes_its_notes_with_it(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=4, journal_seconds=0))
    for number in range(3):
        made.add(record(number))
        made.settle()
    assert len(made.notes()) == 3
    made.add(record(3))
    assert made.committed() == [[url_of(number) for number in range(4)]]
    assert made.notes() == []
    (chunk,) = ChunkLog(made.segment, 2).committed()
    assert len(chunk.notes) == 3
    assert chunk.counters == {"records": 4}


def test_a_note_that_a_chunk_contains_is_not_taken_again(tmp_path: Path) -> None:
    """Its writer died between the commit and the deletion."""
    made = Made(tmp_path, ChunkSize(journal_seconds=0))
    made.add(record(1))
    made.settle()
    (path,) = tmp_path.rglob("*.arrow")
    data = path.read_bytes()
    made.output.close()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    after = Made(tmp_path, ChunkSize())
    (chunk,) = after.log.committed()
    assert not after.output.take_over({url_of(1)}, set(chunk.notes))
    assert len(after.committed()) == 1


def test_nothing_of_a_note_with_a_page_that_has_a_record_is_taken(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(journal_seconds=0))
    made.add(record(1), record(2))
    made.settle()
    after = Made(tmp_path, ChunkSize())
    fetched = {url_of(2)}
    assert not after.output.take_over(fetched, set())
    assert fetched == {url_of(2)}
    assert after.committed() == []
    assert after.notes() == []


def test_targets_left_for_later_are_no_pages_of_a_note(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(journal_seconds=0))
    target = replace(DUE, status=Status.LINKED)
    made.add(record(1), FetchRecord(url_of(2), "a.org", target))
    made.settle()
    fetched = {url_of(2)}
    assert Made(tmp_path, ChunkSize()).output.take_over(fetched, set())
    assert fetched == {url_of(1), url_of(2)}


def test_without_a_journal_nothing_is_noted(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(journal_seconds=-1))
    made.add(record(1))
    made.clock.advance(200)
    made.tick()
    assert made.notes() == []
    made.output.close()
    assert made.committed() == [[url_of(1)]]


def test_an_answer_that_is_no_record_is_content_only(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    made.output.archive(Content("http://a.org/robots.txt", b"Disallow:"))
    made.output.close()
    (chunk,) = ChunkLog(made.segment, 2).committed()
    assert list(chunk.pieces) == ["content"]
    assert made.read("content", chunk.pieces["content"].path) == ["http://a.org/robots.txt"]


def test_while_chunks_fill_at_once_nothing_is_noted_and_a_lull_commits_what_was_not(
    tmp_path: Path,
) -> None:
    made = Made(tmp_path, ChunkSize(records=300, journal_seconds=1.0))
    made.add(*(record(number) for number in range(300)))
    assert [len(chunk) for chunk in made.committed()] == [300]
    made.add(*(record(number) for number in range(300, 570)))
    assert made.notes() == []
    made.add(record(570))
    made.clock.advance(1.0)
    made.tick()
    assert [len(chunk) for chunk in made.committed()] == [300, 271]
    made.add(*(record(number) for number in range(600, 870)))
    assert len(made.notes()) == 1  # slow by now
    made.output.close()
    assert [len(chunk) for chunk in made.committed()] == [300, 271, 270]
