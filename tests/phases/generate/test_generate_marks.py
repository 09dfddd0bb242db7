"""What generate leaves behind: marks that keep rounds apart, and nothing of one that died."""

from __future__ import annotations

from typing import Any

import pytest

from crawl.config import Config
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.status import Status
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.segments import GENERATE
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.generating import run
from tests.phases.made import (
    NOW,
    datum,
    make_crawldb,
    make_segment,
    records_of,
    urls_of,
)


@pytest.fixture
def address(tmp_path: Any) -> str:
    return str(tmp_path / "crawl")


def test_without_marks_the_crawldb_is_left_alone(address: str) -> None:
    directory = make_crawldb(address, {"http://a.org/": datum()})
    before = directory.crawldb.timeline()
    first = run(directory, clock=ManualClock(NOW))
    assert directory.crawldb.timeline() == before
    assert urls_of(directory, first.segments) == ["http://a.org/"]


def test_the_urls_of_an_unfinished_segment_are_not_due(address: str) -> None:
    """Whether marked or not: another shell may be fetching them."""
    records = {f"http://h{n % 9}.org/p{n}": datum() for n in range(90)}
    directory = make_crawldb(address, records)
    clock = ManualClock(NOW)
    rounds = [run(directory, top_n=40, num_fetchers=3, clock=clock) for _ in range(3)]
    taken = [urls_of(directory, each.segments) for each in rounds]
    assert [len(urls) for urls in taken] == [40, 40, 10]
    assert sorted(url for urls in taken for url in urls) == sorted(records)
    counted = [each.report.counters["wait_for_update"] for each in rounds]
    assert counted == [0, 40, 80]
    last = run(directory, top_n=40, clock=clock)
    assert last.segments == ()
    assert last.report.details["unfinished_segments"] == [
        name for each in rounds for name in each.segments
    ]


def test_a_segment_is_given_up_by_deleting_it_or_by_its_age(address: str) -> None:
    directory = make_crawldb(address, {f"http://h{n}.org/": datum() for n in range(9)})
    settings = {"crawl.gen.delay": 3_600_000}
    (name,) = run(directory, settings, clock=ManualClock(NOW)).segments
    assert run(directory, settings, clock=ManualClock(NOW + 3_599_000)).segments == ()
    (again,) = run(directory, settings, clock=ManualClock(NOW + 3_600_001)).segments
    assert sorted(urls_of(directory, [again])) == sorted(urls_of(directory, [name]))
    directory.segments.folder.delete(name)
    directory.segments.folder.delete(again)
    assert len(run(directory, settings, clock=ManualClock(NOW)).segments) == 1


def test_with_the_update_what_was_handed_back_is_due_again(address: str) -> None:
    records = {f"http://h{n}.org/": datum() for n in range(9)}
    directory = make_crawldb(address, records)
    (name,) = run(directory, clock=ManualClock(NOW)).segments
    segment = directory.segments.segment(name)
    listed = segment.require(GENERATE)
    visited = datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)
    make_segment(directory, name, [("http://h1.org/", visited)], [])
    segment.publish(GENERATE, listed)
    assert run(directory, clock=ManualClock(NOW)).segments == ()
    updatedb.run(InProcess(), directory, Config(), UpdateDbOptions(), ManualClock(NOW))
    (again,) = run(directory, clock=ManualClock(NOW)).segments
    assert sorted(urls_of(directory, [again])) == sorted({*records} - {"http://h1.org/"})


def test_marks_keep_overlapping_rounds_apart(address: str) -> None:
    records = {
        f"http://h{n % 9}.org/p{n}": datum(metadata={"n": str(n)} if n % 3 else {})
        for n in range(90)
    }
    directory = make_crawldb(address, records)
    settings = {"generate.update.crawldb": True}
    clock = ManualClock(NOW)
    rounds = [run(directory, settings, top_n=40, clock=clock) for _ in range(3)]
    taken = [urls_of(directory, each.segments) for each in rounds]
    assert [len(urls) for urls in taken] == [40, 40, 10]
    assert sorted(url for urls in taken for url in urls) == sorted(records)
    assert run(directory, settings, top_n=40, clock=clock).segments == ()
    now_known = records_of(directory)
    assert now_known.keys() == records.keys()
    for url, record in now_known.items():
        assert record.metadata == {**records[url].metadata, GENERATE_TIME_KEY: str(NOW)}
        assert (record.score, record.fetch_time) == (records[url].score, records[url].fetch_time)
    clock.advance(8 * 86_400)
    assert len(run(directory, settings, clock=clock).segments) == 1


def test_a_crash_between_marks_and_lists_loses_neither(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = make_crawldb(address, {f"http://h{n}.org/": datum() for n in range(9)})
    settings = {"generate.update.crawldb": True}

    class Crash(BaseException):
        pass

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("crawl.storage.segments.Segment.publish", crash)
        with pytest.raises(Crash):
            run(directory, settings)
    assert directory.segments.generated() == []
    assert run(directory, settings).segments == ()
    (segment,) = directory.segments.generated()
    assert len(urls_of(directory, [segment.name])) == 9


def test_what_a_killed_generate_left_is_swept(address: str) -> None:
    directory = make_crawldb(address, {"http://a.org/": datum()})
    directory.segments.folder.write("20200101000000/crawl_generate/part-00000-x.parquet", b"half")
    (name,) = run(directory).segments
    assert directory.segments.folder.names() == [name]
