from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.storage import bucketed
from crawl.storage.bucketed import read_bucket, write_bucketed
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import open_table, open_writer


def rows_of(urls: list[tuple[str, str]]) -> pa.Table:
    """A row a (host, path); the fetch time says where it stood."""
    return to_table(
        (f"http://{host}/{path}", host, CrawlDatum(Status.LINKED, place, metadata={"k": host}))
        for place, (host, path) in enumerate(urls)
    )


URLS = st.lists(
    st.tuples(st.sampled_from([f"h{n}.example" for n in range(12)]), st.sampled_from("abc")),
    max_size=60,
)


@given(urls=URLS, written=st.integers(1, 12), wanted=st.integers(1, 12))
def test_each_row_is_read_in_its_bucket_and_nowhere_else(
    tmp_path_factory: pytest.TempPathFactory, urls: list[tuple[str, str]], written: int, wanted: int
) -> None:
    folder = Folder(str(tmp_path_factory.mktemp("bucketed")))
    table = rows_of(urls)
    piece = write_bucketed(folder, "a.parquet", table, written)
    assert piece.rows == table.num_rows
    assert piece.bytes == folder.size("a.parquet")
    read = []
    for bucket in range(wanted):
        rows = read_bucket(folder, "a.parquet", bucket, wanted)
        assert rows.schema.equals(CRAWLDB.schema) and not rows.schema.metadata
        hosts: list[Any] = rows["host"].to_pylist()
        assert all(bucket_of(host, wanted) == bucket for host in hosts)
        for url in set(rows["url"].to_pylist()):
            times = [row["fetch_time"] for row in rows.to_pylist() if row["url"] == url]
            assert times == sorted(times)  # the rows of a URL in the order they came
        if written == wanted:
            found: list[Any] = rows["url"].to_pylist()
            assert found == sorted(found)
        read += rows.to_pylist()
    assert sorted(read, key=lambda row: row["fetch_time"]) == table.to_pylist()


def test_a_bucket_is_read_without_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucketed, "_GROUP_ROWS", 10)
    folder = Folder(str(tmp_path))
    table = rows_of([(f"h{n % 40}.example", str(n)) for n in range(2000)])
    write_bucketed(folder, "a.parquet", table, 8)
    with open_table(folder, "a.parquet") as source:
        places = list(bucketed._places(source, 3, 8))
        assert source.num_row_groups > 8
    read = read_bucket(folder, "a.parquet", 3, 8)
    assert sum(count for _, _, count, _ in places) == read.num_rows > 0
    assert all(is_pure for *_, is_pure in places)


def test_some_columns_only(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    write_bucketed(folder, "a.parquet", rows_of([("a.example", "1"), ("b.example", "2")]), 4)
    bucket = bucket_of("a.example", 8)
    assert read_bucket(folder, "a.parquet", bucket, 8, ["score", "url"]).column_names == [
        "score",
        "url",
    ]


@pytest.mark.parametrize("note", [None, b"{", b'{"buckets": 4, "rows": [[0, 99]]}', b"[]"])
def test_a_file_that_names_no_buckets_is_read_whole(tmp_path: Path, note: bytes | None) -> None:
    folder = Folder(str(tmp_path))
    table = rows_of([(f"h{n % 7}.example", str(n)) for n in range(50)])
    schema = (
        CRAWLDB.schema if note is None else CRAWLDB.schema.with_metadata({bucketed._NOTE: note})
    )
    with open_writer(folder, "a.parquet", schema, 16) as writer:
        writer.write(table)
    read = [read_bucket(folder, "a.parquet", bucket, 4) for bucket in range(4)]
    assert sum(rows.num_rows for rows in read) == 50
    for bucket, rows in enumerate(read):
        hosts: list[Any] = rows["host"].to_pylist()
        assert all(bucket_of(host, 4) == bucket for host in hosts)


def test_an_empty_file(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    assert write_bucketed(folder, "a.parquet", CRAWLDB.schema.empty_table(), 4).rows == 0
    assert read_bucket(folder, "a.parquet", 0, 4).num_rows == 0
