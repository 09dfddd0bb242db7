from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from crawl.config import Config
from crawl.operations.work import Work
from crawl.spark.engine import SparkEngine
from crawl.spark.runners import SMALL_ROWS, SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess, Runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions that were asked for."""
    names: list[str] = []

    @contextmanager
    def session(self: SparkOptions, name: str, config: Config) -> Iterator[SimpleNamespace]:
        names.append(name)
        yield SimpleNamespace(sparkContext=None)

    monkeypatch.setattr(SparkOptions, "session", session)
    return names


def runner_of(options: SparkOptions, name: str, rows: int) -> AbstractContextManager[Runner]:
    config = Config.of({})
    engine = SparkEngine(config, options, name)
    return engine.runner(Work(name, config, engine), rows=rows)


def test_little_work_is_done_here(opened: list[str]) -> None:
    with runner_of(SparkOptions(None, True), "parse", rows=SMALL_ROWS) as runner:
        assert isinstance(runner, InProcess)
    assert opened == []


def test_more_is_done_on_spark(opened: list[str]) -> None:
    with runner_of(SparkOptions(None, True), "parse", rows=SMALL_ROWS + 1):
        assert opened == ["parse"]


def test_what_was_asked_of_a_cluster_is_done_there(
    opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with runner_of(SparkOptions("local[2]", True), "readdb", rows=1):
        assert opened == ["readdb"]
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "40001")
    with runner_of(SparkOptions(None, True), "parse", rows=1):
        assert opened == ["readdb", "parse"]


@pytest.mark.spark
def test_a_session_that_the_platform_has_opened_is_used_and_left_open(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, or on Databricks, which run a job's file in a process of theirs."""
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.org/\nhttp://b.org/\n")
    crawl = tmp_path / "crawl"
    monkeypatch.setattr(sys, "argv", ["inject.py", str(crawl), str(seeds)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "jobs" / "inject.py"), run_name="__main__")
    assert ended.value.code == 0
    assert CrawlDir(str(crawl)).require_crawldb().rows == 2
    assert spark.sparkContext.parallelize([1, 2]).count() == 2
