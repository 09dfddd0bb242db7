"""snapshots, rollback and gc."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl import open as open_crawl
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.cli.calling import Caller
from tests.phases.made import records_of


@pytest.fixture
def three(tmp_path: Path) -> str:
    """A crawl of three snapshots with one, two and three URLs."""
    address = str(tmp_path / "c")
    for n in range(3):
        seeds = tmp_path / f"{n}.txt"
        seeds.write_text(f"http://h{n}.org/\n")
        options = InjectOptions((str(seeds),))
        inject.run(InProcess(), CrawlDir(address), Config(), options, SystemClock())
    return address


def test_snapshots_are_listed_and_their_files_are_open(crawl: Caller, three: str) -> None:
    rows = crawl("snapshots", three, "--json").json
    assert [(row["snapshot"], row["urls"], row["current"]) for row in rows] == [
        (1, 1, False),
        (2, 2, False),
        (3, 3, True),
    ]
    files = crawl("snapshots", three, "--files").out.split()
    assert sorted(str(url) for path in files for url in pq.read_table(path)["url"].to_pylist()) == [
        f"http://h{n}.org/" for n in range(3)
    ]
    assert "inject" in crawl("snapshots", three).out


def test_roll_back_and_forward(crawl: Caller, three: str) -> None:
    assert "snapshot 2 with 2 URLs" in crawl("rollback", three).err
    assert len(records_of(CrawlDir(three))) == 2
    assert crawl("rollback", three, "--to", 1).code == 0
    assert len(records_of(CrawlDir(three))) == 1
    assert crawl("rollback", three, "--to", 3).code == 0
    assert len(records_of(CrawlDir(three))) == 3
    answer = crawl("rollback", three, "--to", 9)
    assert (answer.code, "kept: 1, 2, 3" in answer.err) == (2, True)


def test_gc_keeps_what_is_asked_for(crawl: Caller, three: str) -> None:
    before = set(CrawlDir(three).crawldb.folder.files())
    answer = crawl("gc", three, "--keep", 1)
    assert "forgot snapshots 1, 2, kept snapshot 3;" in answer.err
    assert len(records_of(CrawlDir(three))) == 3
    assert set(CrawlDir(three).crawldb.folder.files()) < before
    assert crawl("rollback", three).code == 2


def test_programs_are_told_too(crawl: Caller, three: str) -> None:
    with open_crawl(three, progress=False) as web:
        assert web.snapshot_files() == crawl("snapshots", three, "--files", "--json").json
    assert crawl("rollback", three, "--json").json == {"snapshot": 2, "urls": 2}
    swept = crawl("gc", three, "--keep", 1, "--json").json
    assert (swept["forgotten"], swept["kept"]) == ([1, 3], [2])
    assert swept["files_deleted"] > 0
    for line in (("gc", three, "--keep", 0), ("rollback", three, "--to", 0)):
        answer = crawl(*line)
        assert answer.code == 2
        assert f"{line[2]}: expected a whole number of at least 1, got '0'" in answer.err
