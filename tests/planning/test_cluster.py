from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crawl.planning.capacity import PhaseWork, round_of
from crawl.planning.cluster import (
    HOURS_PER_DAY,
    Node,
    Prices,
    fewest_nodes,
    most_pages_per_day,
    phase_time,
    plan,
)
from crawl.planning.demand import Demand
from crawl.planning.host_sizes import HostPace
from crawl.planning.store_requests import FETCH_PART_SECOND, StoreRequests
from tests.planning.figures import COSTS, demands

NODE = Node(cores=10, memory_bytes=100e9, bits_per_s=8e9, threads=20, use=0.5)
BILLION = Demand(urls=10e9, hosts=50e6, pages_per_day=1e9, seeds=50e6)


@pytest.mark.parametrize(
    ("work", "seconds", "bound"),
    [
        (PhaseWork("x", 100, start_s=2), 100 / (2 * 10 * 0.5) + 2, "CPU"),
        (PhaseWork("x", 100, tasks=4), 100 / (4 * 0.5), "tasks"),
        (PhaseWork("x", 100, task_bytes=80e9), 100 / (2 * 1 * 0.5), "CPU"),
        (PhaseWork("x", 0, web_bytes=1e9, read_bytes=1e9, written_bytes=2e9), 4, "network"),
        (PhaseWork("x", 0, requests=StoreRequests(put=1000, get=1000)), 2000 * 0.03 / 20, "store"),
        (PhaseWork("x", 0, waiting_s=800), 800 / (2 * 10 * 20), "threads"),
        (PhaseWork("x", 1, least_s=7), 7, "politeness"),
    ],
)
def test_a_phase_takes_as_long_as_the_slowest_of_what_it_needs(
    work: PhaseWork, seconds: float, bound: str
) -> None:
    found = phase_time(work, NODE, 2)
    assert found.seconds == pytest.approx(seconds)
    assert found.bound == bound


@given(demands(), st.integers(1, 10_000))
def test_twice_the_nodes_never_take_longer(demand: Demand, nodes: int) -> None:
    for work in round_of(demand, COSTS):
        once, twice = (
            phase_time(work, NODE, nodes).seconds,
            phase_time(work, NODE, 2 * nodes).seconds,
        )
        assert 0 <= twice <= once * (1 + 1e-9)
        assert twice >= once / 2 * (1 - 1e-9)


@given(demands(), st.integers(1, 10**6))
def test_no_number_of_nodes_is_faster_than_polite(demand: Demand, nodes: int) -> None:
    _, fetch, _, _ = round_of(demand, COSTS)
    assert phase_time(fetch, NODE, nodes).seconds >= demand.polite_s


@given(demands())
def test_the_fewest_nodes_are_enough_and_one_less_is_not(demand: Demand) -> None:
    nodes = fewest_nodes(demand, COSTS, NODE)
    assume(nodes is not None)
    assert nodes is not None
    assert plan(demand, COSTS, NODE, nodes).hours_per_day <= HOURS_PER_DAY * (1 + 1e-9)
    if nodes > 1:
        assert plan(demand, COSTS, NODE, nodes - 1).hours_per_day > HOURS_PER_DAY * (1 - 1e-9)
    assert plan(demand, COSTS, NODE).fits


@given(demands(), st.floats(1, 100))
def test_more_urls_never_need_fewer_hours(demand: Demand, times: float) -> None:
    """At the same pages a day; but for politeness, to which they are more choice."""
    # with more tasks than cores: a bucket that is split is worked on by several
    fewer = replace(demand, pace=HostPace(0, 0), buckets=1 << 20)
    more = replace(fewer, urls=demand.urls * times)
    hours = [plan(each, COSTS, NODE, 100).hours_per_day for each in (fewer, more)]
    assert hours[1] >= hours[0] * (1 - 1e-9)


def test_a_billion_pages_a_day() -> None:
    found = plan(BILLION, COSTS, Node(), prices=Prices(1.0, 0.02, 5, 0.4))
    assert found.fits
    fewer = plan(BILLION, COSTS, Node(), found.nodes - 1).hours_per_day
    assert found.hours_per_day <= HOURS_PER_DAY < fewer
    assert [phase.work.phase for phase in found.phases] == [
        "inject",
        "generate",
        "fetch",
        "parse",
        "updatedb",
    ]
    assert found.phases[0].hours_per_day == 0
    assert found.max_count >= BILLION.cap
    # nobody pays for more than all nodes all day, and for requests
    requests = sum(
        (phase.requests.puts * 5 + phase.requests.gets * 0.4) / 1e6 * phase.runs_per_day
        for phase in found.phases
    )
    assert found.cost_per_day == pytest.approx(found.nodes * found.hours_per_day + requests)
    assert found.storage_cost == pytest.approx(found.storage.total / 1e9 * 0.02)
    assert not Prices().any


def test_few_hosts_cannot_give_so_many_pages() -> None:
    """100 hosts, a page every 5.5 s, four rounds: 1.57 million a day at the most."""
    greedy = Demand(urls=1e9, hosts=100, pages_per_day=1e7, skew=0)
    found = plan(greedy, COSTS, Node())
    assert not found.fits
    assert fewest_nodes(greedy, COSTS, Node()) is None
    most = most_pages_per_day(greedy, COSTS, Node())
    assert 0.9 * 100 * 86_400 / 5.5 <= most <= 100 * 86_400 / 5.5
    assert fewest_nodes(replace(greedy, pages_per_day=0.99 * most), COSTS, Node()) is not None
    assert most_pages_per_day(BILLION, COSTS, Node()) == BILLION.pages_per_day
    # a host has ten million URLs, of which it gives 471 thousand in a month
    assert found.left_behind == pytest.approx(1 - 30 * 86_400 / 5.5 / 1e7, abs=0.01)
    assert found.slow_hosts == 100


def test_given_nodes_are_taken() -> None:
    found = plan(BILLION, COSTS, Node(), nodes=1)
    assert found.nodes == 1
    assert not found.fits


@pytest.mark.parametrize("nodes", [10, 20])
def test_a_fetch_asks_the_store_for_as_long_as_its_tasks_run(nodes: int) -> None:
    (fetching,) = (
        phase for phase in plan(BILLION, COSTS, NODE, nodes).phases if phase.work.phase == "fetch"
    )
    seconds = fetching.time.seconds * nodes * NODE.slots(fetching.work)
    assert fetching.requests == fetching.work.requests + FETCH_PART_SECOND.times(seconds)
