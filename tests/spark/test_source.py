from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crawl.errors import EnvironmentFault
from crawl.model.status import Status
from crawl.spark.source import FORMAT, register
from tests.phases.made import NOW, datum, make_crawldb

pytestmark = pytest.mark.spark


@pytest.fixture
def address(tmp_path: Path) -> str:
    records = {
        f"http://h{n % 5}.org/p{n}": datum(
            status=Status.DB_GONE if n % 4 == 0 else Status.DB_FETCHED,
            score=n,
            signature=bytes([n]),
            modified_time=NOW if n == 7 else 0,
            metadata={"n": str(n)},
        )
        for n in range(20)
    }
    return make_crawldb(str(tmp_path / "crawl"), records, buckets=3).address


def test_the_crawldb_is_a_spark_table(spark: SparkSession, address: str) -> None:
    register(spark)
    table = spark.read.format(FORMAT).load(address)
    assert table.count() == 20
    assert table.where("status = 'db_gone'").count() == 5
    (seven,) = table.where("metadata['n'] = '7'").collect()
    assert (seven.url, seven.host, seven.score) == ("http://h2.org/p7", "h2.org", 7.0)
    assert seven.signature == b"\x07"
    assert seven.modified_time == seven.fetch_time.replace(day=seven.fetch_time.day + 1)
    assert table.where("modified_time IS NULL").count() == 19
    by_host = table.groupBy("host").count().collect()
    assert {row["host"]: row["count"] for row in by_host} == {f"h{n}.org": 4 for n in range(5)}


def test_an_older_snapshot_and_a_missing_one(spark: SparkSession, address: str) -> None:
    register(spark)
    assert spark.read.format(FORMAT).option("snapshot", 1).load(address).count() == 20
    with pytest.raises(Exception, match="there is no snapshot 9"):
        spark.read.format(FORMAT).option("snapshot", 9).load(address).count()


def test_a_spark_without_data_sources_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    monkeypatch.delitem(sys.modules, "crawl.spark.source")
    with pytest.raises(EnvironmentFault, match="need Spark 4 or later: this is "):
        importlib.import_module("crawl.spark.source")
