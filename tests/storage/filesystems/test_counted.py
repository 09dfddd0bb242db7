from __future__ import annotations

import gzip
import io
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.costs import EngineCosts
from crawl.storage.filesystems.counted import (
    CountedReader,
    count_read,
    count_written,
    counted_reader,
)
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table, open_writer
from crawl.telemetry.costs import cost_account
from tests.examples import scaled

READS = st.tuples(st.sampled_from(["read", "readline", "readinto", "seek"]), st.integers(0, 40))


@settings(max_examples=scaled(200))
@given(st.binary(max_size=200), st.lists(READS))
def test_a_counted_stream_reads_as_the_stream_does(
    data: bytes, calls: list[tuple[str, int]]
) -> None:
    plain, counted = io.BytesIO(data), CountedReader(io.BytesIO(data))
    total = 0
    for name, number in calls:
        if name == "readinto":
            left, right = bytearray(number), bytearray(number)
            size = plain.readinto(left)
            assert counted.readinto(right) == size and left == right
        else:
            found = getattr(plain, name)(number)
            assert getattr(counted, name)(number) == found
            size = 0 if name == "seek" else len(found)
        total += size
        assert counted.tell() == plain.tell()
    rest = list(plain)
    assert list(counted) == rest
    assert counted.bytes_read == total + sum(map(len, rest))


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return Folder(str(tmp_path) if request.param == "local" else f"memory://{tmp_path}")


def test_small_files_count_what_they_hold(folder: Folder) -> None:
    with cost_account() as account:
        folder.write("a/b", b"12345")
        assert folder.read("a/b") == b"12345"
        assert folder.read("a/none") is None
        assert folder.create("a/c", b"678")
    total = account.total
    assert (total.bytes_read, total.bytes_written, total.requests) == (5, 8, 4)


def test_streams_count_what_was_read_of_them(folder: Folder) -> None:
    with cost_account() as writing, folder.open_write("big") as sink:
        sink.write(gzip.compress(b"line\n" * 1000, mtime=0))
    size = folder.size("big")
    assert writing.total.bytes_written == size
    with (
        cost_account() as reading,
        folder.open_read("big") as stream,
        gzip.open(stream) as unpacked,
    ):
        assert len(unpacked.read()) == 5000
    assert reading.total.bytes_read == size
    with cost_account() as part, folder.open_read("big") as stream:
        stream.seek(2)
        stream.read(3)
    assert part.total.bytes_read == 3


def test_a_file_that_failed_is_not_counted_as_written(folder: Folder) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        cost_account() as account,
        folder.open_write("cut") as sink,
    ):
        sink.write(b"12")
        raise ZeroDivisionError
    assert account.total.bytes_written == 0


def test_of_a_table_only_the_columns_that_are_read_are_counted(folder: Folder) -> None:
    table = pa.table({"small": list(range(1000)), "text": [f"{n:0>90}" for n in range(1000)]})
    with cost_account() as writing, open_writer(folder, "t.parquet", table.schema) as sink:
        sink.write(table)
    assert writing.total.bytes_written == folder.size("t.parquet")
    spent = {}
    for columns in (["small"], ["small", "text"]):
        with cost_account() as account, open_table(folder, "t.parquet") as stored:
            assert isinstance(stored, pq.ParquetFile)
            assert stored.read(columns=columns).num_rows == 1000
        spent[len(columns)] = account.total.bytes_read or 0
    assert 0 < spent[1] < spent[2]


def test_a_stores_stream_tells_what_was_asked_for() -> None:
    cache = SimpleNamespace(total_requested_bytes=4096, miss_count=2)
    stream: Any = SimpleNamespace(cache=cache, read=lambda size=-1: b"1")
    assert counted_reader(stream) is stream
    with cost_account() as account:
        count_read(stream)
    assert account.total == EngineCosts(bytes_read=4096, requests=3)


@pytest.mark.parametrize(("size", "requests"), [(0, 1), (10, 1), (11, 4), (20, 4), (21, 5)])
def test_a_large_file_is_sent_in_parts(size: int, requests: int) -> None:
    with cost_account() as account:
        count_written(size, 10)
    assert account.total == EngineCosts(bytes_written=size, requests=requests)


def test_a_stream_without_statistics_is_counted_here() -> None:
    stream = cast(IO[bytes], io.BytesIO(b"12"))
    assert isinstance(counted_reader(stream), CountedReader)
