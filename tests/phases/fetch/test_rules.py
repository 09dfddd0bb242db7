"""When a fetch is ended, and what that does to whole crawls in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.phases.fetch.rules import FetchSoFar, RoundCosts, is_tail
from tests.examples import scaled
from tests.rounds.simulated_rounds import SimulatedWeb, crawl_in_rounds

COSTS = RoundCosts(overhead_s=5.0, found_per_page=2.0)
TAIL = FetchSoFar(
    spent_s=60.0, served_s=40.0 * 20 + 20 * 2, busy=2, most_busy=40, longest_s=30.0, pages=1000
)

seconds = st.floats(0, 1e6)
fetches = st.builds(
    FetchSoFar,
    spent_s=seconds,
    served_s=seconds,
    busy=st.integers(0, 1000),
    most_busy=st.integers(0, 1000),
    longest_s=seconds,
    pages=st.integers(0, 10**6),
)
costs = st.builds(
    RoundCosts,
    overhead_s=st.floats(0.1, 1e5),
    found_per_page=st.floats(0, 100),
    due_unlisted=st.integers(0, 10**9),
)


def test_few_servers_are_busy_and_much_waits_for_the_others() -> None:
    assert is_tail(TAIL, COSTS)


@pytest.mark.parametrize(
    ("fetch", "round_costs", "why"),
    [
        (replace(TAIL, busy=20), COSTS, "more are busy than in the mean"),
        (replace(TAIL, longest_s=4.9), COSTS, "it is over before another round would begin"),
        (replace(TAIL, spent_s=4.9, served_s=100.0), COSTS, "it has only begun"),
        (TAIL, replace(COSTS, found_per_page=0.0), "nothing waits for the idle servers"),
        (replace(TAIL, pages=0), COSTS, "it has brought nothing"),
        (replace(TAIL, busy=2, most_busy=2), COSTS, "no server is idle"),
        (TAIL, replace(COSTS, overhead_s=61.0), "a round costs more than all of it"),
    ],
)
def test_what_speaks_for_going_on(fetch: FetchSoFar, round_costs: RoundCosts, why: str) -> None:
    assert not is_tail(fetch, round_costs), why


def test_what_the_list_left_out_waits_too() -> None:
    nothing_found = replace(COSTS, found_per_page=0.0)
    assert is_tail(TAIL, replace(nothing_found, due_unlisted=1000))
    assert not is_tail(TAIL, replace(nothing_found, due_unlisted=10))


@given(fetches, costs)
@settings(max_examples=scaled(500))
def test_every_cut_is_worth_a_round(fetch: FetchSoFar, round_costs: RoundCosts) -> None:
    if is_tail(fetch, round_costs):
        overhead_s = round_costs.overhead_s
        assert fetch.busy < fetch.mean_busy(overhead_s)
        assert fetch.spent_s >= overhead_s, "rounds are at least half fetch"
        assert fetch.longest_s >= overhead_s
        assert fetch.pages > 0, "a round that ends early has brought something"
        assert fetch.busy < fetch.most_busy


@given(fetches, costs, st.integers(0, 1000), seconds)
@settings(max_examples=scaled(500))
def test_it_is_ended_all_the_more(
    fetch: FetchSoFar, round_costs: RoundCosts, fewer: int, more_s: float
) -> None:
    """The fewer are busy, the longer the tail, the cheaper a round: never a reason to go on."""
    if is_tail(fetch, round_costs):
        assert is_tail(replace(fetch, busy=max(0, fetch.busy - fewer)), round_costs)
        assert is_tail(replace(fetch, longest_s=fetch.longest_s + more_s), round_costs)
        cheaper = replace(round_costs, overhead_s=round_costs.overhead_s / (1 + more_s))
        assert is_tail(fetch, cheaper)


webs = st.builds(
    SimulatedWeb.plain,
    hosts=st.integers(1, 30),
    pages=st.integers(30, 1500),
    delay_s=st.sampled_from([0.1, 0.5, 1.0, 5.0]),
    skew=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 1000),
    fanout=st.integers(1, 10),
    links=st.sampled_from([0.0, 2.0, 10.0]),
    external=st.sampled_from([0.0, 0.1, 0.5]),
)
overheads = st.sampled_from([0.5, 2.0, 5.0, 10.0, 60.0])


@given(webs, overheads)
@settings(max_examples=scaled(100), deadline=None)
def test_no_page_is_lost_and_none_fetched_twice(web: SimulatedWeb, overhead_s: float) -> None:
    cut = crawl_in_rounds(web, overhead_s, is_cut=True)
    assert len(cut.fetched) == len(set(cut.fetched)) == web.pages


@given(webs, overheads)
@settings(max_examples=scaled(100), deadline=None)
def test_a_cut_in_vain_costs_one_round(web: SimulatedWeb, overhead_s: float) -> None:
    """One that is not in vain saves more: here only what it may cost is bounded."""
    whole = crawl_in_rounds(web, overhead_s, is_cut=False)
    cut = crawl_in_rounds(web, overhead_s, is_cut=True)
    assert cut.seconds <= whole.seconds + cut.cuts * overhead_s + 1e-6
    assert cut.seconds <= 1.25 * whole.seconds


@pytest.mark.parametrize(("overhead_s", "before", "after"), [(2.0, 1.4, 1.2), (5.0, 1.6, 1.35)])
def test_hosts_of_one_size_are_crawled_sooner(
    overhead_s: float, before: float, after: float
) -> None:
    """By chance some host has far more of each list than the others."""
    web = SimulatedWeb.plain(60, 9_000)
    whole = crawl_in_rounds(web, overhead_s, is_cut=False)
    cut = crawl_in_rounds(web, overhead_s, is_cut=True)
    assert cut.cuts >= 2
    assert whole.seconds >= before * web.ideal_s
    assert cut.seconds <= after * web.ideal_s
