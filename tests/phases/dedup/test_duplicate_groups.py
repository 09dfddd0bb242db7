"""The file of a dedup's groups, written when the CrawlDb has the marks: whoever dies between the
two is given the file by the same command again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.model.status import Status
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.group_files import check_file, write_groups
from crawl.phases.dedup.options import DedupOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.dedup.test_dedup import page
from tests.phases.killed import run_killed, writes_of
from tests.phases.made import NOW, make_crawldb, records_of

pytestmark = pytest.mark.slow(seconds=10)


def _dedup(folder: str) -> None:
    file = f"{folder}/groups.json"
    check_file(file)
    options = DedupOptions(groups=10, urls=10)
    clock = ManualClock(NOW)
    done = dedup.run(InProcess(), CrawlDir(f"{folder}/crawl"), Config.of({}), options, clock)
    write_groups(file, done.groups, done.report.counters["groups"])


def test_killed_between_the_marks_and_the_file(tmp_path: Path) -> None:
    base, whole, tried = (tmp_path / name for name in ("base", "whole", "tried"))
    records = {f"http://h{number}.org/": page(score=number) for number in range(4)}
    make_crawldb(str(base / "crawl"), records)
    shutil.copytree(base, whole)
    count = sum(writes_of(_dedup, str(whole)).values())
    expected = (whole / "groups.json").read_bytes()
    shutil.copytree(base, tried)
    # the last two writes are the file, torn and whole
    assert run_killed(_dedup, str(tried), at=count - 1)
    assert not (tried / "groups.json").exists()
    marked = records_of(CrawlDir(str(tried / "crawl")))
    assert sum(each.status is Status.DB_DUPLICATE for each in marked.values()) == 3
    _dedup(str(tried))
    assert (tried / "groups.json").read_bytes() == expected
    assert sorted(path.name for path in tried.iterdir()) == ["crawl", "groups.json"]
