"""export on Spark: what it writes is what it writes in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from crawl.phases.export import run as export
from crawl.phases.export.options import ExportOptions
from crawl.phases.export.values import ExportFormat
from crawl.spark.tasks import SparkRunner
from crawl.testing.clock import ManualClock
from tests.phases.exported import ExportedCrawl
from tests.phases.indexed import GONE, Page
from tests.phases.made import NOW


@pytest.mark.spark
def test_spark_writes_the_same_records_and_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    crawl.round({f"http://h{number}.com/": Page(f"text {number}") for number in range(6)})
    before = crawl.crawl_dir.require_crawldb().number
    crawl.round({"http://h0.com/": GONE, "http://h1.com/": Page("text one")})
    runner, clock = SparkRunner(spark, quiet=True), ManualClock(NOW)

    def on_spark(output: str, **options: Any) -> None:
        asked = ExportOptions(crawl.place(output), **options)
        export.run(runner, crawl.crawl_dir, crawl.config, asked, clock)

    on_spark("there", format=ExportFormat.PARQUET)
    crawl.export("here", "parquet")
    assert crawl.records("here") == crawl.records("there")
    on_spark("changes", since=before)
    assert {url: row["change"] for url, row in crawl.records("changes").items()} == {
        "http://h0.com/": "gone",
        "http://h1.com/": "changed",
    }
    rows = spark.read.parquet(f"{crawl.place('there')}/data").filter("quality.words = 2").collect()
    assert len(rows) == 5
