from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader

from crawl.errors import EnvironmentFault
from crawl.model.status import Status
from crawl.spark.source import FORMAT, PushdownSource, register
from tests.phases.made import NOW, datum, make_crawldb, make_segment
from tests.spark.segment_tables import publish_rows

pytestmark = pytest.mark.spark

URLS = [f"http://h{n % 5}.org/p{n}" for n in range(20)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    records = {
        url: datum(
            status=Status.DB_GONE if n % 4 == 0 else Status.DB_FETCHED,
            score=n,
            signature=bytes([n]),
            modified_time=NOW if n == 7 else 0,
            metadata={"n": str(n)},
        )
        for n, url in enumerate(URLS)
    }
    directory = make_crawldb(str(tmp_path_factory.mktemp("crawl")), records, buckets=3)
    for name, urls in (("20261115093000", URLS[:8]), ("20261115103000", URLS[8:])):
        fetched = [(url, datum(status=Status.FETCH_SUCCESS)) for url in urls]
        segment = make_segment(directory, name, fetched)
        publish_rows(segment, "parse_data", [{"url": url} for url in urls])
    return directory.address


def load(spark: SparkSession, address: str, **options: object) -> DataFrame:
    register(spark)
    reader = spark.read.format(FORMAT)
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load(address)


def test_the_crawldb_is_a_spark_table(spark: SparkSession, address: str) -> None:
    table = load(spark, address)
    assert table.count() == 20
    assert table.where("status = 'db_gone'").count() == 5
    (seven,) = table.where("metadata['n'] = '7'").collect()
    assert (seven.url, seven.host, seven.score) == ("http://h2.org/p7", "h2.org", 7.0)
    assert seven.signature == b"\x07"
    assert seven.modified_time == seven.fetch_time.replace(day=seven.fetch_time.day + 1)
    assert table.where("modified_time IS NULL").count() == 19
    by_host = table.groupBy("host").count().collect()
    assert {row["host"]: row["count"] for row in by_host} == {f"h{n}.org": 4 for n in range(5)}


def test_queries_of_one_dataframe_do_not_share_conditions(
    spark: SparkSession, address: str
) -> None:
    table = load(spark, address)
    one = table.where(f"url = '{URLS[7]}'")
    other = table.where(f"url = '{URLS[8]}'")
    assert {row.url for row in one.union(other).select("url").collect()} == set(URLS[7:9])
    assert table.count() == 20


CONDITIONS = {
    "status IN ('db_gone', 'db_orphan')": 5,
    "status = 'nonsense'": 0,
    "url LIKE 'http://h1.org/%' AND status > 'db_fetched'": 1,
    "score <= 3 AND retries = 0": 4,
    "score > 3.5D AND fetch_time < TIMESTAMP '2027-01-15 00:00:00'": 16,
    "modified_time IS NOT NULL AND signature = X'07'": 1,
}


@pytest.fixture
def pushdown(spark: SparkSession) -> Iterator[None]:
    """As `register` does where Spark pushes conditions down rightly."""
    spark.dataSource.register(PushdownSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    register(spark)


@pytest.mark.skipif(not hasattr(DataSourceReader, "pushFilters"), reason="Spark 4.0")
@pytest.mark.usefixtures("pushdown")
def test_conditions_are_pushed_down(spark: SparkSession, address: str) -> None:
    for condition, rows in CONDITIONS.items():
        assert spark.read.format(FORMAT).load(address).where(condition).count() == rows, condition
    one = spark.read.format(FORMAT).load(address).where(f"url = '{URLS[7]}'")
    assert one.rdd.getNumPartitions() == 1
    assert [row.url for row in one.collect()] == [URLS[7]]


def test_tables_of_segments_and_chosen_columns(spark: SparkSession, address: str) -> None:
    where = '[["url", "startswith", "http://h2.org/"]]'
    assert load(spark, address, table="fetch", where=where).count() == 4
    fetched = load(spark, address, table="fetch", columns="segment, url, status")
    assert fetched.columns == ["segment", "url", "status"]
    assert fetched.where("status = 'fetch_success'").count() == 20
    assert fetched.where("segment = '20261115093000'").count() == 8
    assert load(spark, address, table="fetch", segment="20261115103000").count() == 12
    pages = load(spark, address, table="parse_data")
    links = pages.where(f"url = '{URLS[9]}'").selectExpr("explode(outlinks) AS link")
    assert [row.link.url for row in links.collect()] == [f"{URLS[9]}/next"]
    assert load(spark, address, table="hosts").count() == 0
    by_schema = spark.read.format(FORMAT).schema("url STRING, score FLOAT").load(address)
    assert by_schema.agg({"score": "max"}).collect()[0][0] == 19.0


def test_an_older_snapshot_and_what_is_not_there(spark: SparkSession, address: str) -> None:
    assert load(spark, address, snapshot=1).count() == 20
    with pytest.raises(Exception, match="there is no snapshot 9"):
        load(spark, address, snapshot=9).count()
    with pytest.raises(Exception, match=r"no table 'fetchh' \(did you mean 'fetch'\?\)"):
        load(spark, address, table="fetchh")


def test_a_crawldb_without_a_row(spark: SparkSession, tmp_path: Path) -> None:
    assert load(spark, make_crawldb(str(tmp_path), {}).address).count() == 0


def test_a_spark_without_data_sources_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    monkeypatch.delitem(sys.modules, "crawl.spark.source")
    with pytest.raises(EnvironmentFault, match="need Spark 4 or later: this is "):
        importlib.import_module("crawl.spark.source")
