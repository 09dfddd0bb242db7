"""Expressions over the HostDb, on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crawl.config import Config
from crawl.errors import UsageError
from crawl.model.datum import FETCH_DELAY_KEY
from crawl.model.derived_tables import HOSTDB
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.tasks.host_bounds import send_values
from crawl.phases.generate.tasks.selection import host_expressions
from crawl.phases.updatehostdb import run as updatehostdb
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.readers.readhostdb import run as readhostdb
from crawl.spark.expr import check_expression, matching_rows
from crawl.spark.host_bounds import host_bounds
from crawl.spark.tasks import SparkRunner
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.hostdb import require_hostdb
from crawl.testing.clock import ManualClock
from tests.installs import only_installed
from tests.phases.made import NOW, datum, fetch_lists, make_crawldb

pytestmark = pytest.mark.spark

SIZES = {"a.org": 20, "b.org": 6, "c.org": 9}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> CrawlDir:
    folder: Path = tmp_path_factory.mktemp("hosts")
    records = {f"http://{host}/p{n}": datum() for host, size in SIZES.items() for n in range(size)}
    directory = make_crawldb(str(folder / "c"), records, buckets=3)
    updatehostdb.run(
        SparkRunner(spark, quiet=True),
        directory,
        Config(),
        UpdateHostDbOptions(),
        ManualClock(NOW),
    )
    return directory


def test_generate_uses_what_expressions_give(spark: SparkSession, directory: CrawlDir) -> None:
    config = Config.of(
        {
            "urlfilter.order": [],
            "generate.max.count.expr": "CASE WHEN urls > 8 THEN urls / 3 END",
            "generate.fetch.delay.expr": "IF(host = 'b.org', 1000 * urls, NULL)",
        }
    )
    with only_installed():  # without any extra
        done = generate.run(
            SparkRunner(spark, quiet=True),
            directory,
            config,
            GenerateOptions(),
            ManualClock(NOW),
            resolver=lambda host: None,
            bounding=host_bounds(spark, directory, host_expressions(config), send_values),
        )
    (name,) = done.segments
    rows = [row for part in fetch_lists(directory, name) for row in part]
    counts = {host: sum(f"//{host}/" in url for url, _ in rows) for host in SIZES}
    assert counts == {"a.org": 7, "b.org": 6, "c.org": 3}
    delays = {record.metadata.get(FETCH_DELAY_KEY) for url, record in rows if "b.org" in url}
    assert delays == {"6000"}


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        ("urls +", r"generate.max.count.expr 'urls \+': Syntax error"),
        ("urlz * 2", "`urlz` cannot be resolved.*columns: host, urls"),
        ("upper(host)", "gives string, not a number"),
        ("java_method('java.lang.Runtime', 'exit')", "'java_method' may not be used"),
        ("sum(urls)", "generate.max.count.expr 'sum\\(urls\\)': "),
    ],
)
def test_a_wrong_expression_is_one_line(
    spark: SparkSession, directory: CrawlDir, expr: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        host_bounds(spark, directory, {"generate.max.count.expr": expr}, send_values)
    assert "\n" not in str(caught.value)


def test_hosts_are_read_by_an_expression(spark: SparkSession, directory: CrawlDir) -> None:
    state = require_hostdb(directory)
    expr = check_expression(spark, "urls < 10", HOSTDB)
    matching = matching_rows(spark, directory, state, expr, table=HOSTDB.name)
    found = readhostdb.top(SparkRunner(spark, quiet=True), directory, state, "urls", 5, matching)
    assert [(row["host"], row["urls"]) for row in found] == [("c.org", 9), ("b.org", 6)]
