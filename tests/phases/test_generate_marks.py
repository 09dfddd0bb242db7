"""What generate leaves behind: marks that keep rounds apart, and nothing of one that died."""

from __future__ import annotations

from typing import Any

import pytest

from crawl.model.datum import GENERATE_TIME_KEY
from crawl.testing.clock import ManualClock
from tests.phases.generating import run
from tests.phases.made import (
    NOW,
    datum,
    make_crawldb,
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
    again = run(directory, clock=ManualClock(NOW))
    assert directory.crawldb.timeline() == before
    assert urls_of(directory, first.segments) == urls_of(directory, again.segments)
    assert first.segments != again.segments


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
