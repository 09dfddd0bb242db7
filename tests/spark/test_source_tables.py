from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)
from pyspark.sql.types import StringType, StructField, StructType

from crawl.config import Config
from crawl.errors import NoSnapshot, UsageError
from crawl.model.status import Status
from crawl.phases.updatehostdb import run as updatehostdb
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.spark.source import PushdownReader, PushdownSource
from crawl.spark.source_tables import TABLES, SourceOptions
from crawl.storage import parquet, scan
from crawl.storage.segments import SEGMENT_TABLES
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum, make_crawldb, make_segment
from tests.spark.segment_tables import publish_rows

OLD, NEW, UNFETCHED = "20261115093000", "20261115103000", "20261115113000"
HOSTS = [f"h{number}.test" for number in range(5)]
STATUSES = [Status.DB_UNFETCHED, Status.DB_FETCHED, Status.DB_GONE]
RECORDS = {
    f"http://{HOSTS[number % 5]}/p{number:03d}": datum(
        status=STATUSES[number % 3],
        score=float("nan") if number == 30 else number / 8,
        fetch_time=NOW + number * 1000,
        modified_time=NOW if number % 2 else 0,
        signature=bytes([number]) if number % 4 else None,
    )
    for number in range(60)
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = make_crawldb(str(tmp_path_factory.mktemp("crawl")), RECORDS)
    for name in (OLD, NEW):
        segment = make_segment(directory, name, [])
        for part in SEGMENT_TABLES:
            key = "host" if part == "fetch_hosts" else "url"
            rows = [{key: f"http://a.test/{number:02d}"} for number in range(12)]
            publish_rows(segment, part, rows)
    make_segment(directory, UNFETCHED)
    updatehostdb.run(InProcess(), directory, Config.of({}), UpdateHostDbOptions(), ManualClock(NOW))
    return directory.address


def schema_of(*names: str) -> StructType:
    """As Spark hands it over; the types are the table's."""
    return StructType([StructField(name, StringType()) for name in names])


def reader_of(address: str, **options: str) -> PushdownReader:
    given_options = {"path": address, **options}
    names = SourceOptions.of(given_options).selection.names
    reader = PushdownSource(given_options).reader(schema_of(*names))
    assert isinstance(reader, PushdownReader)
    return reader


def rows_of(reader: PushdownReader) -> list[dict[str, Any]]:
    return [
        row
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist(maps_as_pydicts="strict")
    ]


@pytest.fixture
def groups_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str] | None]]:
    """The columns of every row group that is decoded."""
    read: list[list[str] | None] = []
    usual = parquet.read_groups

    def noted(source: Any, groups: list[int], columns: list[str] | None = None) -> pa.Table:
        read.extend([columns] * len(groups))
        return usual(source, groups, columns)

    monkeypatch.setattr(scan, "read_groups", noted)
    yield read


@pytest.mark.parametrize("table", sorted({*TABLES, *SEGMENT_TABLES}))
def test_every_table_is_read_with_all_its_columns(address: str, table: str) -> None:
    reader = reader_of(address, table=table)
    rows = rows_of(reader)
    assert len(rows) == {"crawldb": 60, "hosts": 0, "hostdb": len(HOSTS)}.get(table, 24)
    names = TABLES[table.removeprefix("crawl_")].names
    assert all(list(row) == names for row in rows)
    if rows and "segment" in names:
        assert [row["segment"] for row in rows] == [OLD] * 12 + [NEW] * 12


@pytest.mark.parametrize("table", ["fetch", "content", "parse_text"])
def test_one_segment(address: str, table: str) -> None:
    assert {row["segment"] for row in rows_of(reader_of(address, table=table, segment=NEW))} == {
        NEW
    }


def test_hosts_in_trouble_are_none_where_none_failed(address: str) -> None:
    assert rows_of(reader_of(address, table="fetch_hosts", segment=UNFETCHED)) == []


def test_only_the_chosen_columns_are_decoded(
    address: str, groups_read: list[list[str] | None]
) -> None:
    reader = reader_of(address, table="content", columns="code, segment")
    assert rows_of(reader)[0] == {"code": 1, "segment": OLD}
    assert groups_read == [["code"]] * 6


def test_a_url_is_looked_up_in_one_group_of_one_bucket(
    address: str, groups_read: list[list[str] | None]
) -> None:
    reader = reader_of(address, columns="url, score")
    wanted = EqualTo(("url",), "http://h2.test/p017")
    assert list(reader.pushFilters([wanted])) == []
    assert len(reader.partitions()) == 1
    assert rows_of(reader) == [{"url": "http://h2.test/p017", "score": 17 / 8}]
    assert groups_read == [["url"], ["score"]]


def test_segments_that_are_not_asked_for_are_not_opened(address: str) -> None:
    reader = reader_of(address, table="content")
    assert list(reader.pushFilters([EqualTo(("segment",), NEW)])) == []
    assert len(reader.partitions()) == 1
    assert len(rows_of(reader)) == 12


def test_bodies_are_read_only_where_a_row_matches(
    address: str, groups_read: list[list[str] | None]
) -> None:
    reader = reader_of(address, table="content", segment=NEW, columns="content")
    assert list(reader.pushFilters([EqualTo(("url",), "http://a.test/055")])) == []
    assert rows_of(reader) == []
    assert groups_read == [["url"]]  # the group whose range it is in


def test_conditions_of_the_option_where(address: str, groups_read: list[list[str] | None]) -> None:
    where = """[["url", "in", ["http://h2.test/p017", "http://h0.test/p030"]],
        ["fetch_time", "<", "2027-01-15T08:00:20Z"], ["modified_time", "is not", null]]"""
    reader = reader_of(address, columns="url", where=where)
    assert list(reader.pushFilters([IsNotNull(("url",))])) == []
    assert rows_of(reader) == [{"url": "http://h2.test/p017"}]
    assert all(columns == ["url", "fetch_time", "modified_time"] for columns in groups_read)
    assert len(groups_read) <= 4  # of each bucket the groups in whose range they are


FILTERS: list[Filter] = [
    EqualTo(("url",), "http://h1.test/p001"),
    EqualTo(("host",), "h3.test"),
    EqualNullSafe(("retries",), 0),
    In(("url",), ("http://h1.test/p001", "http://h4.test/p004", None)),
    In(("status",), ("db_gone", "db_orphan")),
    EqualTo(("status",), "db_fetched"),
    LessThan(("status",), "db_gone"),
    LessThan(("score",), 2.5),
    LessThanOrEqual(("score",), 2.5),
    EqualTo(("score",), 2.5),
    GreaterThan(("fetch_time",), datetime.fromtimestamp(NOW / 1000 + 20, UTC)),
    GreaterThanOrEqual(("fetch_time",), datetime.fromtimestamp(NOW / 1000 + 20, UTC)),
    IsNull(("modified_time",)),
    IsNotNull(("signature",)),
    GreaterThan(("signature",), b"\x20"),
    StringStartsWith(("url",), "http://h2.test/p00"),
    LessThan(("_row",), 5),
    EqualTo(("_bucket",), 2),
]


def holds(pushed: Any, row: dict[str, Any]) -> bool:
    cell = row[pushed.attribute[0]]
    match pushed:
        case IsNull():
            return cell is None
        case IsNotNull():
            return cell is not None
        case _ if cell is None:
            return False
        case EqualTo() | EqualNullSafe():
            return bool(cell == pushed.value)
        case In():
            return cell in pushed.value
        case LessThan():
            return bool(cell < pushed.value)
        case LessThanOrEqual():
            return bool(cell <= pushed.value)
        case GreaterThan():
            return bool(cell > pushed.value)
        case GreaterThanOrEqual():
            return bool(cell >= pushed.value)
    return bool(cell.startswith(pushed.value))


@given(st.lists(st.sampled_from(FILTERS), min_size=1, max_size=3, unique_by=id))
def test_pushed_filters_keep_the_rows_that_they_hold_for(
    address: str, filters: list[Filter]
) -> None:
    reader = reader_of(address)
    assert list(reader.pushFilters(filters)) == []
    wanted = [row for row in rows_of(reader_of(address)) if all(holds(f, row) for f in filters)]
    found = rows_of(reader)
    assert [row["url"] for row in found] == [row["url"] for row in wanted]


@pytest.mark.parametrize(
    "pushed",
    [
        GreaterThan(("score",), 1.0),  # of which Spark says that it holds for NaN
        EqualTo(("score",), float("nan")),
        EqualTo(("status",), "nonsense"),
        EqualTo(("metadata", "key"), "x"),
        EqualTo(("url",), None),
        EqualTo(("url",), 1),
        EqualTo(("fetch_time",), datetime(2026, 1, 1)),  # noqa: DTZ001  a zone is missing
        Not(EqualTo(("url",), "x")),
        StringContains(("url",), "x"),
    ],
)
def test_what_means_something_else_in_spark_stays_there(address: str, pushed: Filter) -> None:
    reader = reader_of(address)
    assert list(reader.pushFilters([pushed])) == [pushed]
    assert len(rows_of(reader)) == 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "fetchh"}, "a crawl has no table 'fetchh' (did you mean 'fetch'?); tables: "),
        ({"tabel": "fetch"}, "the format nutria has no option 'tabel' (did you mean 'table'?)"),
        ({"columns": "url, scor"}, "crawldb has no column 'scor' (did you mean 'score'"),
        ({"columns": ""}, "crawldb has no column ''"),
        ({"snapshot": "last"}, "snapshot 'last' is no number"),
        ({"segment": OLD}, "the table crawldb belongs to no segment"),
        ({"table": "fetch", "snapshot": "1"}, "segments have no snapshots"),
        ({"table": "fetch", "segment": "20261115093001"}, f"(did you mean '{OLD}'?)"),
        ({"where": "status = 'db_gone'"}, "is no JSON list such as [["),
        ({"where": '["status", "=", "db_gone"]'}, "is no condition: give [column, operator, "),
        ({"where": '[["statu", "=", "x"]]'}, "no column 'statu' (did you mean 'status'?)"),
        ({"where": '[["url", "~", "x"]]'}, "no operator '~': use one of =, !=, "),
        ({"where": '[["url", "=", 7]]'}, "7 cannot be compared with a column of type string"),
        ({"where": '[["url", "in", "x"]]'}, "in 'x': give a list of values"),
        ({"path": ""}, "give the crawl's folder"),
    ],
)
def test_wrong_options_are_one_line(address: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        reader_of(**{"address": address, **options})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_column_of_a_schema_that_the_table_has_not(address: str) -> None:
    with pytest.raises(UsageError, match="has no column 'texts'"):
        PushdownSource({"path": address}).reader(schema_of("url", "texts"))


def test_a_part_that_is_not_finished_and_a_folder_that_is_no_crawl(
    address: str, tmp_path: Any
) -> None:
    with pytest.raises(NoSnapshot, match="has no finished content"):
        reader_of(address, table="content", segment=UNFETCHED)
    for table in ("crawldb", "fetch"):
        with pytest.raises(NoSnapshot, match="has no CrawlDb yet"):
            reader_of(str(tmp_path), table=table)
