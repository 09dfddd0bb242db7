from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crawl
from crawl.datasets.table import Table
from crawl.errors import UsageError
from crawl.model.status import Status
from crawl.storage import parquet, scan
from crawl.storage.scan import OPERATORS
from tests.phases.made import datum, make_crawldb

STATUSES = [Status.DB_UNFETCHED, Status.DB_FETCHED, Status.DB_GONE]
RECORDS = {
    f"http://h{number % 5}.test/p{number:03d}": datum(
        status=STATUSES[number % 3], score=number / 10, metadata={"n": str(number)}
    )
    for number in range(60)
}


@pytest.fixture(scope="module")
def crawldb(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("crawl")
    make_crawldb(str(folder), RECORDS)
    return crawl.open(folder).crawldb()


def test_all_rows_come_with_their_statuses_by_name(crawldb: Table) -> None:
    rows = {row["url"]: row for row in crawldb}
    assert rows.keys() == RECORDS.keys()
    assert {url: row["status"] for url, row in rows.items()} == {
        url: record.status.label for url, record in RECORDS.items()
    }
    assert rows["http://h1.test/p001"]["metadata"] == {"n": "1"}
    assert crawldb.count() == 60


@given(
    column=st.sampled_from(["score", "retries", "status", "url"]),
    sign=st.sampled_from(sorted(OPERATORS)),
    place=st.integers(0, 59),
)
def test_a_condition_keeps_the_rows_that_it_holds_for(
    crawldb: Table, column: str, sign: str, place: int
) -> None:
    everything = list(crawldb)
    value = everything[place][column]
    holds: dict[str, Any] = {
        "=": lambda cell: cell == value,
        "!=": lambda cell: cell != value,
        "<": lambda cell: cell < value,
        "<=": lambda cell: cell <= value,
        ">": lambda cell: cell > value,
        ">=": lambda cell: cell >= value,
        "in": lambda cell: cell in [value],
        "is": lambda cell: cell is None,
        "is not": lambda cell: cell is not None,
        "startswith": lambda cell: cell.startswith(value[:-1]),
    }
    if column == "status" and sign in ("<", "<=", ">", ">="):
        return  # names have no order that anybody means
    if sign == "startswith" and not isinstance(value, str):
        return
    values = {"in": [value], "is": None, "is not": None}
    given_value = value[:-1] if sign == "startswith" else values.get(sign, value)
    found = crawldb.where((column, sign, given_value)).select("url")
    wanted = [row["url"] for row in everything if holds[sign](row[column])]
    assert [row["url"] for row in found] == wanted


def test_groups_that_cannot_hold_a_row_are_not_read(
    crawldb: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    usual = parquet.read_groups

    def counted(source: Any, groups: list[int], columns: list[str] | None = None) -> pa.Table:
        read.extend(groups)
        return usual(source, groups, columns)

    monkeypatch.setattr(scan, "read_groups", counted)
    assert crawldb.where(("url", "=", "http://h1.test/p001")).count() == 1
    assert len(read) <= 4  # of each bucket the one group whose range it is in


def test_only_the_wanted_columns_are_decoded(
    crawldb: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str] | None] = []
    usual = parquet.read_groups

    def noted(source: Any, groups: list[int], columns: list[str] | None = None) -> pa.Table:
        asked.append(columns)
        return usual(source, groups, columns)

    monkeypatch.setattr(scan, "read_groups", noted)
    assert crawldb.select("score").where(("status", "=", "db_gone")).to_arrow().num_columns == 1
    assert asked[0] == ["status"]
    assert all(columns in (["status"], ["score"]) for columns in asked)


def test_a_head_reads_no_more_than_it_needs(
    crawldb: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert crawldb.head(3).num_rows == 3
    assert crawldb.head(1000).num_rows == 60


def test_nothing_found_is_a_table_without_rows(crawldb: Table) -> None:
    empty = crawldb.select("url", "score").where(("score", ">", 1e9)).to_arrow()
    assert empty.num_rows == 0
    assert empty.column_names == ["url", "score"]


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda table: table.select("urll"), "has no column 'urll' (did you mean 'url'?)"),
        (lambda table: table.where(("score", "~", 1)), "no operator '~'"),
        (lambda table: table.where("score > 1"), "is no condition"),
        (
            lambda table: table.where(("status", "=", "db_fetchd")).count(),
            "no status is called 'db_fetchd' (did you mean 'db_fetched'?)",
        ),
        (lambda table: table.where(("score", ">", "much")).count(), "score > 'much'"),
    ],
)
def test_misuse_is_one_line(crawldb: Table, ask: Any, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        ask(crawldb)
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_notebook_shows_rows_and_runs_none_of_them(tmp_path: Path) -> None:
    hostile = datum(metadata={"x": "<script>alert(1)</script>"})
    make_crawldb(str(tmp_path), {"http://a.test/?<b>": hostile})
    shown = crawl.open(tmp_path).crawldb()._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "<b>" not in shown


def test_pandas_and_polars_agree(crawldb: Table) -> None:
    table = crawldb.select("url", "score").where(("status", "=", "db_fetched"))
    as_pandas = table.to_pandas()
    as_polars = table.to_polars()
    assert list(as_pandas["url"]) == as_polars["url"].to_list() == [row["url"] for row in table]
