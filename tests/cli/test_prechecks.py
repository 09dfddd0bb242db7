"""A lock is met before Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.model.status import Status
from crawl.spark.engine import SparkEngine
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.lock import LOCK_NAME, hold_lock
from tests.cli.calling import Caller
from tests.parsing.small_parsers import content
from tests.phases.fetched import NAME, fetched_segment
from tests.phases.made import NOW, datum, make_segment
from tests.phases.webs import listed

URL = "http://a.org/"
NAMED = ("-D", "http.agent.name=testbot")


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SparkOptions, "session", started)
    monkeypatch.setattr(SparkEngine, "runner", started)


def refused(crawl: Caller, locked: Folder, *line: object) -> None:
    """Asserts that the command is refused while the folder is locked, and only then."""
    with hold_lock(locked, "gc", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
        answer = crawl(*line)
        assert (answer.code, answer.out) == (3, "")
        assert answer.err.startswith(f"crawl: {locked.address} is locked: gc by ")
        assert "--steal-lock" in answer.err
        assert answer.err.count("\n") == 1
        assert "Spark was started" in crawl(*line, "--steal-lock").err
        assert locked.exists(LOCK_NAME), "it is looked at, and not taken"
    assert "Spark was started" in crawl(*line).err


@pytest.mark.usefixtures("no_spark")
def test_of_the_crawldb(crawl: Caller, tmp_path: Path) -> None:
    directory, name = listed(str(tmp_path / "c"), [URL])
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(URL)
    where, crawldb = directory.address, directory.crawldb.folder
    refused(crawl, crawldb, "inject", where, seeds)
    refused(crawl, crawldb, "generate", where)
    refused(crawl, crawldb, "rebucket", where, "--buckets", 8)
    refused(crawl, crawldb, "run", where, "--seeds", seeds, *NAMED)
    make_segment(directory, name, [(URL, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW))], [])
    refused(crawl, crawldb, "updatedb", where)
    refused(crawl, crawldb, "run", where, *NAMED)


@pytest.mark.usefixtures("no_spark")
def test_of_a_segment(crawl: Caller, tmp_path: Path) -> None:
    directory, name = listed(str(tmp_path / "c"), [URL])
    segment = directory.segments.segment(name).folder
    refused(crawl, segment, "fetch", directory.address, *NAMED)
    refused(crawl, segment, "run", directory.address, *NAMED)
    fetched = fetched_segment(CrawlDir(str(tmp_path / "d")), [[content(URL, "text")]])
    refused(crawl, fetched.folder, "parse", str(tmp_path / "d"), NAME)
