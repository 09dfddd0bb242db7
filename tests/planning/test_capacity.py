from __future__ import annotations

import dataclasses
from dataclasses import replace
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config.properties import CRAWLDB_FILE_ROWS
from crawl.errors import UsageError
from crawl.planning import capacity
from crawl.planning.capacity import PhaseWork, inject, round_of, storage
from crawl.planning.demand import RECORDS_PER_FILE, ROBOTS_ROWS_PER_BUCKET, Demand
from crawl.planning.host_sizes import HostPace
from crawl.planning.store_requests import PUBLICATION, SEGMENT_CHOICE
from tests.planning.figures import COSTS, demands

DEMAND = Demand(
    urls=1_600_000,
    hosts=1_000,
    pages_per_day=20_000,
    page_bytes=10_000,
    links=10,
    pace=HostPace(4.5, 0.5),
    skew=0,
    rounds_per_day=2,
    seeds=1_000,
    keep_days=3,
)
NUMBERS = [
    field.name
    for field in dataclasses.fields(PhaseWork)
    if field.name not in ("phase", "tasks", "requests", "requests_a_second")
] + ["requests.puts", "requests.gets"]


def test_the_processor_time_is_units_times_costs() -> None:
    generate, fetch, parse, updatedb = round_of(DEMAND, COSTS)
    buckets = DEMAND.bucket_count
    assert buckets == 16
    assert generate.cpu_s == pytest.approx(1.6 + 0.1 + 0.016 + 0.02 + 3 * 16 * 0.002)
    assert fetch.cpu_s == pytest.approx((10_000 + 500) * 1e-3 + 0.1)
    assert parse.cpu_s == pytest.approx(10_000 * (200 + 10 * 10 + 10 * 5) / 1e6)
    senders = 10_000 * 12 / capacity.ROWS_PER_BUNDLE
    exchange = 0.12 + (senders + 16) * 0.002
    assert updatedb.cpu_s == pytest.approx(3.2 + 0.2 + 0.1 + 0.016 + exchange)
    injected = inject(DEMAND, COSTS, known_urls=1e6).cpu_s
    assert injected == pytest.approx(0.01 + 1 + 0.016 + 0.001 + 2 * 16 * 0.002)


def test_bytes_and_requests_follow() -> None:
    generate, fetch, parse, updatedb = round_of(DEMAND, COSTS)
    assert generate.read_bytes == 2 * 64e6
    assert fetch.http == 10_500  # a host's robots.txt once in the two rounds of a day
    assert fetch.web_bytes == 10_000 * 10_000 + 500 * capacity.ROBOTS_BYTES
    robots_bytes = 1_000 * (capacity.HOST_BYTES + 2 * 200)
    assert fetch.written_bytes == 10_000 * 30 + 100_000 * 200 + robots_bytes
    assert parse.read_bytes == 100_000 * 200
    assert updatedb.read_bytes == 64e6 + 10_000 * (30 + 100 + 100)
    assert updatedb.written_bytes == 64e6
    assert updatedb.exchanged_bytes == 10_000 * 12 * 50
    # two files of each of the segment's parts; each bucket's end and its one block, and its hosts
    fixed = PUBLICATION + SEGMENT_CHOICE
    assert updatedb.requests.gets == pytest.approx(fixed.gets + 16 * 2 + 16 * (2 + 1))
    # and both are written, and what they replace is deleted
    assert updatedb.requests.puts == pytest.approx(fixed.puts + 16 * 2 + 1)
    kept = storage(DEMAND, COSTS)
    assert kept.updatedb == 3 * 64e6
    assert kept.segments == 60_000 * (30 + 30 + 100 + 100 + 10 * 240)
    assert kept.robots == 2 * robots_bytes
    assert kept.total == kept.updatedb + kept.segments + kept.robots


def test_a_large_bucket_is_several_tasks() -> None:
    """20 million records, of which a file has 4 million."""
    large = replace(DEMAND, urls=320e6, buckets=16)
    generate, _, _, updatedb = round_of(large, COSTS)
    assert large.file_count == generate.tasks == updatedb.tasks == 16 * 5
    assert updatedb.task_bytes == 4e6 * 500
    # the candidates of a whole bucket meet in one task of generate
    assert generate.task_bytes == 20e6 * capacity.CANDIDATE_BYTES
    assert CRAWLDB_FILE_ROWS.default == RECORDS_PER_FILE


def test_robots_txt_is_asked_for_again_where_it_cannot_be_kept() -> None:
    many = replace(DEMAND, urls=1e9, hosts=100e6, pages_per_day=400e6, buckets=16)
    assert many.robots_kept == 16 * ROBOTS_ROWS_PER_BUCKET
    assert many.robots_per_round == 100e6 - many.robots_kept
    enough = replace(many, buckets=1024)
    assert (enough.robots_kept, enough.robots_per_round) == (100e6, 50e6)


def test_politeness_bounds_the_fetch() -> None:
    """Ten pages of each of a thousand hosts: robots.txt, then ten times pause and answer."""
    _, fetch, _, _ = round_of(DEMAND, COSTS)
    assert DEMAND.cap == 10
    assert fetch.least_s == 11 * 0.5 + 10 * 4.5
    assert fetch.waiting_s == 10_500 * 0.5


@given(demands())
def test_nothing_is_negative(demand: Demand) -> None:
    for work in (inject(demand, COSTS), *round_of(demand, COSTS)):
        assert all(attrgetter(name)(work) >= 0 for name in NUMBERS)
        assert work.tasks > 0
    assert storage(demand, COSTS).total >= 0


@given(demands(), st.floats(1, 100))
def test_more_urls_are_never_less_work(demand: Demand, times: float) -> None:
    """With as many pages and hosts: but politeness, to which they are more choice, and requests
    to the store where there are more buckets: what is kept of as many hosts lies in smaller files
    then, which are read and written by one request each. The robots.txt of more hosts can be kept
    with more buckets. And the driver is told every second key where it is too much to be told all:
    half as much at the least."""
    demand = replace(demand, hosts=demand.robots_kept)
    more = replace(demand, urls=demand.urls * times)
    for small, large in zip(round_of(demand, COSTS), round_of(more, COSTS), strict=True):
        for name in set(NUMBERS) - {
            "least_s",
            "task_bytes",
            "requests.puts",
            "requests.gets",
            "driver_bytes",
        }:
            assert attrgetter(name)(large) >= attrgetter(name)(small) * (1 - 1e-9)
        assert large.driver_bytes >= small.driver_bytes / 2
    same = [replace(each, buckets=demand.bucket_count) for each in (demand, more)]
    for small, large in zip(*(round_of(each, COSTS) for each in same), strict=True):
        assert large.requests.puts >= small.requests.puts
        assert large.requests.gets >= small.requests.gets
    assert more.polite_s <= demand.polite_s * (1 + 1e-6) + 2 * (
        demand.pace.delay_s + demand.pace.latency_s
    )


@given(demands(), st.floats(0.01, 1))
def test_fewer_pages_are_never_more_work(demand: Demand, share: float) -> None:
    fewer = replace(demand, pages_per_day=demand.pages_per_day * share)
    for small, large in zip(round_of(fewer, COSTS), round_of(demand, COSTS), strict=True):
        for name in NUMBERS:
            assert attrgetter(name)(large) >= attrgetter(name)(small) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"urls": 0}, "urls: a number above 0 is wanted"),
        ({"rounds_per_day": -1}, "rounds per day: a number above 0 is wanted"),
        ({"hosts": 2e6}, "2,000,000 hosts cannot have 1,600,000 URLs"),
        ({"pages_per_day": 4e6}, "a round of 2,000,000 pages of 1,600,000 URLs"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, float], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        replace(DEMAND, **change)  # type: ignore[arg-type]
