from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.config import Config
from crawl.errors import StorageError
from crawl.fetcher.output.segment_output import ChunkSize
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.tables import CONTENT, CRAWL_FETCH
from crawl.storage.bucketed import read_bucket
from crawl.storage.chunks import ChunkLog
from tests.fetcher.outputs import BUCKETS, Made, record, url_of
from tests.fetcher.small_web import DUE


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
    committed_chunks = ChunkLog(made.segment, 2).committed()
    assert sum(chunk.counters["records"] for chunk in committed_chunks) == 20
    for chunk, urls in zip(committed_chunks, chunks, strict=True):
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


def test_a_write_error_is_raised_at_the_next_chunk_or_the_end(
    tmp_path: Path,
) -> None:
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
    assert ChunkSize.of(config) == ChunkSize(7, 1 << 20, 120.0, 0.0)


def test_crawl_fetch_lies_bucket_by_bucket(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    hosts = [f"h{number}.org" for number in range(20)]
    made.add(*(FetchRecord(f"http://{host}/", host, DUE) for host in hosts))
    made.output.close()
    (chunk,) = ChunkLog(made.segment, 2).committed()
    folder, path = made.segment.child("crawl_fetch"), chunk.pieces["crawl_fetch"].path
    found = [
        read_bucket(folder, path, number, BUCKETS)["host"].to_pylist() for number in range(BUCKETS)
    ]
    assert sorted(str(host) for each in found for host in each) == sorted(hosts)
    assert b"nutria.buckets" in (pq.ParquetFile(folder.path(path)).metadata.metadata or {})


def test_an_answer_that_is_no_record_is_content_only(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    made.output.add_archived(Content("http://a.org/robots.txt", b"Disallow:"))
    made.output.close()
    (chunk,) = ChunkLog(made.segment, 2).committed()
    assert list(chunk.pieces) == ["content"]
    assert made.read("content", chunk.pieces["content"].path) == ["http://a.org/robots.txt"]
