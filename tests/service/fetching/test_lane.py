from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import EnvironmentFault
from crawl.fetcher.values.hooks import KnownServer
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.fetching.lane import ENDS, Lane
from tests.service.whole.hosts import Hosts, hosts

DATUM = CrawlDatum(Status.DB_UNFETCHED, 0, 0, 86_400, score=1.0, metadata={})
LONG_S = 120
OPTIONS = {
    "http.agent.name": "testbot",
    "http.filter.ipaddress.include": ["loopback"],
    "fetcher.server.delay": 0.0,
    "fetcher.server.min.delay": 0.0,
}


def never(key: str) -> KnownServer | None:
    return None


def new_lane() -> tuple[Lane, Arrivals]:
    arrivals = Arrivals(lambda answer: None)
    lane = Lane(Config.of(OPTIONS), SystemClock(), arrivals, lambda authority: None, never)
    return lane, arrivals


@contextmanager
def running() -> Iterator[tuple[Lane, Arrivals]]:
    lane, arrivals = new_lane()
    lane.start()
    try:
        yield lane, arrivals
    finally:
        lane.stop()


@pytest.fixture
def web() -> Iterator[Hosts]:
    with hosts(2) as web:
        yield web


def test_what_is_fed_comes_to_the_arrivals_and_may_be_fed_again(web: Hosts) -> None:
    url = web.url(0, "/p/1")
    with running() as (lane, arrivals):
        for turn in range(2):
            assert lane.feed(url, DATUM, "job")
            assert lane.has(url) and lane.count == 1
            (record,), _, _ = arrivals.take(10, LONG_S)
            assert (record.url, record.datum.status) == (url, Status.FETCH_SUCCESS)
            assert lane.has(url), "until it was taken in"
            assert list(lane.ended(url)) == []
            assert len(web.pages()) == turn + 1


def test_who_comes_for_a_url_that_is_under_way_is_told_of_at_its_end(web: Hosts) -> None:
    url = web.url(0, "/slow/1")
    with running() as (lane, arrivals):
        assert lane.feed(url, DATUM, "first")
        web.wait_for_slow(1)
        assert not lane.feed(url, DATUM, "second")
        assert not lane.feed(url, DATUM, "third")
        web.may_go_on.set()
        arrivals.take(10, LONG_S)
        assert lane.ended(url) == ["second", "third"]
        assert len(web.pages()) == 1


def test_what_waits_is_given_back_when_it_stops(web: Hosts) -> None:
    with running() as (lane, arrivals):
        for n in range(3):
            lane.feed(web.url(0, f"/slow/{n}"), DATUM)
        web.wait_for_slow(1)
        web.may_go_on.set()
    records, returned, _ = arrivals.take(10, LONG_S)
    assert len(records) + len(returned) == 3
    assert {reason for _, reason in returned} <= {ENDS}
    assert lane.room() == 0
    assert lane.fault is None


def test_a_fetcher_that_ends_by_itself_is_a_fault(web: Hosts) -> None:
    lane, arrivals = new_lane()
    lane.start()
    try:
        lane._driver.stop("hung")
        lane._thread.join(LONG_S)
        assert isinstance(lane.fault, EnvironmentFault) and "hung" in str(lane.fault)
        assert lane.room() == 0, "nobody feeds it any more"
        lane.feed(web.url(0, "/p/1"), DATUM)
        _, ((item, _),), _ = arrivals.take(10, LONG_S)
        assert item.url == web.url(0, "/p/1")
    finally:
        lane.stop()


def test_a_lane_that_was_never_started_can_be_stopped() -> None:
    lane, _ = new_lane()
    lane.stop()
    assert lane.fault is None and lane.room() == 0
