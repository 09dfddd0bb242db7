"""kill -9 at every single write of inject and generate."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawl.model.datum import GENERATE_TIME_KEY
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.kill_jobs import generate_marked, generate_unmarked, inject_seeds
from tests.phases.killed import run_killed
from tests.phases.made import datum, make_crawldb, records_of, urls_of

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

LONG_AGO = 1_700_000_000_000
KNOWN = {
    f"http://h{n % 5}.org/p{n}": datum(fetch_time=LONG_AGO, metadata={"n": str(n)})
    for n in range(40)
}
NEW = {f"http://h{n % 7}.org/new{n}" for n in range(20)}


def at_every_write(
    tmp_path: Path, job: Callable[..., None], *arguments: Any, check: Callable[[CrawlDir], None]
) -> int:
    """Kills the job at its first write, at its second … and has each wreck checked."""
    base = tmp_path / "base"
    make_crawldb(str(base), KNOWN, buckets=3)
    at = 1
    while True:
        wreck = tmp_path / f"killed-{at}"
        shutil.copytree(base, wreck)
        killed = run_killed(job, str(wreck), *arguments, at=at)
        check(CrawlDir(str(wreck)))
        shutil.rmtree(wreck)
        if not killed:
            return at - 1
        at += 1


def assert_clean(directory: CrawlDir) -> None:
    """Nothing is left that no kept snapshot names."""
    names = set(directory.crawldb.folder.files())
    expected = {"CURRENT", "CURRENT.copy"}
    for number in directory.crawldb.timeline().numbers:
        snapshot = directory.crawldb.snapshot(number)
        expected |= {file.path for file in snapshot.files}
        small = ("manifest.json", "manifest.json.copy", "report.json")
        expected |= {f"snapshots/{number:06d}/{name}" for name in small}
    assert names == expected


def test_inject_killed_at_every_write(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("".join(f"{url}\n" for url in sorted(NEW)))

    def check(wreck: CrawlDir) -> None:
        after = records_of(wreck).keys()
        assert after in (KNOWN.keys(), KNOWN.keys() | NEW)
        inject_seeds(wreck.address, str(seeds))
        assert records_of(wreck).keys() == KNOWN.keys() | NEW
        report = wreck.crawldb.report(wreck.require_crawldb().number)
        counters = report["counters"]
        assert counters.get("urls_new", 0) + counters.get("urls_merged", 0) == len(NEW)
        assert_clean(wreck)

    assert at_every_write(tmp_path, inject_seeds, str(seeds), check=check) > 15


def test_the_first_inject_killed_at_every_write(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("".join(f"{url}\n" for url in sorted(NEW)))
    at = 1
    while run_killed(inject_seeds, str(tmp_path / f"killed-{at}"), str(seeds), at=at):
        wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
        inject_seeds(wreck.address, str(seeds))
        assert records_of(wreck).keys() == NEW
        at += 1
    assert at > 10


def test_generate_killed_at_every_write(tmp_path: Path) -> None:
    def check(wreck: CrawlDir) -> None:
        assert records_of(wreck) == KNOWN
        before = [segment.name for segment in wreck.segments.generated()]
        assert all(len(urls_of(wreck, [name])) == 15 for name in before)
        generate_unmarked(wreck.address, 15)
        after = [segment.name for segment in wreck.segments.generated()]
        assert after[: len(before)] == before
        assert len(urls_of(wreck, after[len(before) :])) == 15
        assert wreck.segments.folder.names() == after

    assert at_every_write(tmp_path, generate_unmarked, 15, check=check) > 12


@pytest.mark.slow(seconds=35)
def test_marking_generate_killed_at_every_write(tmp_path: Path) -> None:
    def check(wreck: CrawlDir) -> None:
        assert records_of(wreck).keys() == KNOWN.keys()
        for _ in range(3):  # two for all of them, and one that must find nothing
            generate_marked(wreck.address, 12)
        taken = urls_of(wreck, [segment.name for segment in wreck.segments.generated()])
        # each URL in exactly one fetch list, whatever the killed run had come to
        assert sorted(taken) == sorted(KNOWN)
        marked = {
            url for url, record in records_of(wreck).items() if GENERATE_TIME_KEY in record.metadata
        }
        assert marked == KNOWN.keys()
        assert_clean(wreck)

    assert at_every_write(tmp_path, generate_marked, 12, check=check) > 40
