"""index and clean on Spark: what they make is what they make in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crawl.phases import clean, index
from crawl.phases.clean import CleanOptions
from crawl.phases.index import IndexOptions
from crawl.spark.tasks import SparkRunner
from crawl.testing.clock import ManualClock
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.phases.made import NOW


@pytest.mark.spark
def test_spark_makes_the_same_index(spark: SparkSession, tmp_path: Path) -> None:
    pages = {f"http://h{number}.com/": Page(f"text{number}") for number in range(6)}
    here, there = IndexedCrawl(tmp_path / "a"), IndexedCrawl(tmp_path / "b")
    for crawl in (here, there):
        crawl.round(pages)
    here.index()
    runner, clock = SparkRunner(spark, quiet=True), ManualClock(NOW)
    index.run(runner, there.crawl_dir, there.config, IndexOptions(), clock)
    assert here.documents() == there.documents() and len(here.documents()) == 6
    there.round({"http://h0.com/": GONE})
    clean.run(runner, there.crawl_dir, there.config, CleanOptions(), clock)
    assert set(there.documents()) == set(pages) - {"http://h0.com/"}
