"""With generate.update.crawldb: what a fetch hands back is free with the end of its list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, GENERATE
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum, make_crawldb, make_segment, records_of, urls_of

KNOWN = {
    f"http://h{n}.org/": datum(score=20 - n, metadata={"n": str(n)} if n % 2 else {})
    for n in range(16)
}


def generated(directory: CrawlDir, later_ms: int = 0, **options: Any) -> tuple[str, ...]:
    config = Config.of({"generate.update.crawldb": True, "urlfilter.order": []})
    clock, chosen = ManualClock(NOW + later_ms), GenerateOptions(**options)
    done = generate.run(InProcess(), directory, config, chosen, clock, resolver=lambda host: None)
    return done.segments


def fetch(
    directory: CrawlDir, name: str, urls: list[str], *, complete: bool = True, left: int = 0
) -> None:
    """As if these had been fetched, and `left` handed back; the first page links to all."""
    segment = directory.segments.segment(name)
    listed = segment.require(GENERATE)
    visited = datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)
    links = [(url, datum(status=Status.LINKED, score=0.5)) for url in list(KNOWN)[::3]]
    make_segment(directory, name, [(url, visited) for url in urls], links, complete=complete)
    segment.publish(GENERATE, listed)
    counters = Counters({"records": len(urls), "handed_back.time_limit": left})
    segment.write_report(FETCH, Report("fetch", NOW, "", counters=counters))


def update(directory: CrawlDir, *names: str, again: bool = False) -> CrawlDbUpdate:
    options = UpdateDbOptions(names, again=again)
    return updatedb.run(InProcess(), directory, Config(), options, ManualClock(NOW + 1000))


def reserved(directory: CrawlDir) -> set[str]:
    records = records_of(directory)
    return {url for url, record in records.items() if GENERATE_TIME_KEY in record.metadata}


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    return make_crawldb(str(tmp_path / "c"), KNOWN, buckets=7)


def test_what_was_handed_back_is_due_again_and_other_lists_keep_theirs(
    directory: CrawlDir,
) -> None:
    first, second = generated(directory, top_n=6, max_num_segments=2)
    mine, others = urls_of(directory, [first]), urls_of(directory, [second])
    assert reserved(directory) == {*mine, *others}
    fetch(directory, first, mine[:2], left=4)
    done = update(directory, first)
    assert done.report.counters["reservations_lifted"] == 4
    assert reserved(directory) == set(others)
    after = records_of(directory)
    for url in mine[2:]:
        linked = 0.5 if url in list(KNOWN)[::3] else 0.0
        assert after[url].metadata == KNOWN[url].metadata
        assert after[url].score == KNOWN[url].score + linked
        assert after[url].fetch_time == KNOWN[url].fetch_time
    (again,) = generated(directory, later_ms=2000, num_fetchers=1)
    unlisted = KNOWN.keys() - set(mine) - set(others)
    assert set(urls_of(directory, [again])) == {*mine[2:], *unlisted}


def test_an_interrupted_fetch_keeps_its_list(directory: CrawlDir) -> None:
    (name,) = generated(directory, top_n=6)
    mine = urls_of(directory, [name])
    fetch(directory, name, mine[:2], left=4, complete=False)
    done = update(directory, name, again=True)
    assert done.report.counters["reservations_lifted"] == 0
    assert reserved(directory) == set(mine[2:])


def test_buckets_without_a_reservation_are_not_written_anew(directory: CrawlDir) -> None:
    """No segment has news of them, and none of their records is on the list."""
    (name,) = generated(directory, top_n=1)
    (mine,) = urls_of(directory, [name])
    segment = directory.segments.segment(name)
    listed = segment.require(GENERATE)
    make_segment(directory, name, [], [])
    segment.publish(GENERATE, listed)
    counters = Counters({"handed_back.robots_deferred": 1})
    segment.write_report(FETCH, Report("fetch", NOW, "", counters=counters))
    before = directory.require_crawldb().files
    done = update(directory, name)
    assert len(set(done.snapshot.files) - set(before)) == 1
    assert records_of(directory)[mine] == KNOWN[mine]
