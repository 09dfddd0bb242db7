"""A parse whose tasks, and the children that parse for them, run under Spark's workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.spark.tasks import SparkRunner
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import PARSE_DATA
from tests.parsing.small_parsers import content
from tests.phases.fetched import fetched_segment, parse_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAGE = "<!DOCTYPE html><title>T{0}</title><p>text {0} <a href='/x{0}'>to x</a>"


def test_pages_are_parsed_by_children_of_spark_s_workers(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse, "_TASK_BYTES", 1)  # a task for each file
    directory = CrawlDir(str(tmp_path))
    files = [
        [content(f"http://h{n}.org/{part}", PAGE.format(n), content_type="text/html")]
        for part in range(3)
        for n in range(2)
    ]
    segment = fetched_segment(directory, files)
    runner = SparkRunner(spark, quiet=True)
    config = Config.of({"http.agent.name": "bot"})
    done = parse.run(runner, directory, config, ParseOptions(), SystemClock())
    assert done.report.counters["parse.success"] == 6
    assert len(segment.require(PARSE_DATA).files) == 6
    rows = parse_rows(segment, PARSE_DATA)
    assert {row["title"] for row in rows} == {"T0", "T1"}
    assert all(len(row["outlinks"]) == 1 for row in rows)
