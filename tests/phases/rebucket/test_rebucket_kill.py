"""A rebucket that is killed at any of its writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.storage.crawl_dir import CrawlDir
from tests.phases.host_states import host_states_of, put_host_states
from tests.phases.kill_jobs import rebucket_db
from tests.phases.killed import run_killed
from tests.phases.made import make_crawldb, records_of
from tests.phases.rebucket.test_rebucket import HOSTS, RECORDS

pytestmark = pytest.mark.exhaustive


@pytest.mark.slow
def test_killed_at_every_write(tmp_path: Path) -> None:
    """The records are in the old buckets or in the new ones, and what was half done is gone after
    the next run."""
    base = make_crawldb(str(tmp_path / "base"), RECORDS, buckets=2)
    put_host_states(base, HOSTS)
    hosts, deaths = host_states_of(base), 0
    is_killed = True
    while is_killed:
        wreck = CrawlDir(str(tmp_path / "wreck"))
        shutil.copytree(base.address, wreck.address)
        is_killed = run_killed(rebucket_db, wreck.address, 4, at=deaths + 1)
        assert wreck.require_crawldb().buckets in ((2, 4) if is_killed else (4,))
        assert records_of(wreck) == RECORDS
        assert host_states_of(wreck) == hosts
        rebucket_db(wreck.address, 8)
        assert records_of(wreck) == RECORDS
        assert host_states_of(wreck) == hosts
        _assert_clean(wreck)
        shutil.rmtree(wreck.address)
        deaths += is_killed
    assert deaths > 15


def _assert_clean(directory: CrawlDir) -> None:
    """Nothing is left that no kept snapshot names."""
    dataset = directory.crawldb
    kept = [dataset.snapshot(number) for number in dataset.timeline().numbers]
    named = {file.path for snapshot in kept for file in snapshot.all_files}
    small = ("manifest.json", "manifest.json.copy", "report.json")
    named |= {f"snapshots/{each.number:06d}/{name}" for each in kept for name in small}
    assert set(dataset.folder.files()) == {"CURRENT", "CURRENT.copy", *named}
