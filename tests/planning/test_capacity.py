from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import UsageError
from crawl.planning import capacity
from crawl.planning.capacity import Demand, PhaseWork, inject, round_of, storage
from crawl.planning.host_sizes import HostPace
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
    field.name for field in dataclasses.fields(PhaseWork) if field.name not in ("phase", "tasks")
]


def test_the_processor_time_is_units_times_costs() -> None:
    generate, fetch, parse, updatedb = round_of(DEMAND, COSTS)
    buckets = DEMAND.bucket_count
    assert buckets == 16
    assert generate.cpu_s == pytest.approx(1.6 + 0.1 + 0.016 + 0.02 + 3 * 16 * 0.002)
    assert fetch.cpu_s == pytest.approx((10_000 + 500) * 1e-3 + 0.1)
    assert parse.cpu_s == pytest.approx(10_000 * (200 + 10 * 10 + 10 * 5) / 1e6)
    senders = 10_000 * 12 / capacity.ROWS_A_BUNDLE
    exchange = 0.12 + (senders + 16) * 0.002
    assert updatedb.cpu_s == pytest.approx(3.2 + 0.2 + 0.1 + 0.016 + exchange)
    injected = inject(DEMAND, COSTS, known=1e6).cpu_s
    assert injected == pytest.approx(0.01 + 1 + 0.016 + 0.001 + 2 * 16 * 0.002)


def test_bytes_and_requests_follow() -> None:
    generate, fetch, parse, updatedb = round_of(DEMAND, COSTS)
    assert generate.read_bytes == 64e6
    assert fetch.http == 10_500  # a host's robots.txt once in the two rounds of a day
    assert fetch.web_bytes == 10_000 * 10_000 + 500 * capacity.ROBOTS_BYTES
    assert fetch.written_bytes == 10_000 * 30 + 100_000 * 200
    assert parse.read_bytes == 100_000 * 200
    assert updatedb.read_bytes == 64e6 + 10_000 * (30 + 100 + 100)
    assert updatedb.written_bytes == 64e6
    assert updatedb.exchanged_bytes == 10_000 * 12 * 50
    assert updatedb.gets == pytest.approx(3 * 16 + 2 * 2 + 64e6 / capacity.BYTES_A_PART)
    kept = storage(DEMAND, COSTS)
    assert kept.updatedb == 3 * 64e6
    assert kept.segments == 60_000 * (30 + 30 + 100 + 100 + 10 * 240)
    assert kept.total == kept.updatedb + kept.segments


def test_politeness_bounds_the_fetch() -> None:
    """Ten pages of each of a thousand hosts: robots.txt, then ten times pause and answer."""
    _, fetch, _, _ = round_of(DEMAND, COSTS)
    assert DEMAND.cap == 10
    assert fetch.least_s == 11 * 0.5 + 10 * 4.5
    assert fetch.waiting_s == 10_500 * 0.5


@given(demands())
def test_nothing_is_negative(demand: Demand) -> None:
    for work in (inject(demand, COSTS), *round_of(demand, COSTS)):
        assert all(getattr(work, name) >= 0 for name in NUMBERS)
        assert work.tasks > 0
    assert storage(demand, COSTS).total >= 0


@given(demands(), st.floats(1, 100))
def test_more_urls_are_never_less_work(demand: Demand, times: float) -> None:
    """With as many pages and hosts: but politeness, to which they are more choice."""
    more = replace(demand, urls=demand.urls * times)
    for small, large in zip(round_of(demand, COSTS), round_of(more, COSTS), strict=True):
        for name in set(NUMBERS) - {"least_s", "task_bytes"}:
            assert getattr(large, name) >= getattr(small, name) * (1 - 1e-9)
    assert more.polite_s <= demand.polite_s * (1 + 1e-6) + 2 * (
        demand.pace.delay_s + demand.pace.latency_s
    )


@given(demands(), st.floats(0.01, 1))
def test_fewer_pages_are_never_more_work(demand: Demand, share: float) -> None:
    fewer = replace(demand, pages_per_day=demand.pages_per_day * share)
    for small, large in zip(round_of(fewer, COSTS), round_of(demand, COSTS), strict=True):
        for name in NUMBERS:
            assert getattr(large, name) >= getattr(small, name) * (1 - 1e-9)


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
