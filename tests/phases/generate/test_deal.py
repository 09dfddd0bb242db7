from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.phases.generate.tasks.deal import (
    Chains,
    PartLoad,
    chain_seconds,
    deal,
    deal_sites,
    makespan,
    part_loads,
)
from tests.examples import scaled

chains = st.lists(st.floats(0, 1e6, allow_subnormal=False), max_size=40)


@given(chains, st.integers(1, 8))
@settings(max_examples=scaled(200))
def test_every_chain_is_dealt_once_and_no_part_is_too_busy(
    seconds: list[float], parts: int
) -> None:
    """The busiest part has one chain only, or its last one was among the shorter ones and
    began when every other part was at least as busy."""
    dealt = deal(np.array(seconds), parts)
    assert len(dealt) == len(seconds)
    assert all(0 <= part < parts for part in dealt)
    busy = np.zeros(parts)
    np.add.at(busy, dealt, seconds)
    longest = [*sorted(seconds, reverse=True), *[0.0] * (parts + 1)]
    together = sum(seconds) / parts + longest[parts] * (1 - 1 / parts)
    assert busy.max() <= max(longest[0], together) * (1 + 1e-9)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=7), st.integers(1, 3))
@settings(max_examples=scaled(80), deadline=None)
def test_within_four_thirds_of_the_true_optimum(seconds: list[int], parts: int) -> None:
    busy = [0] * parts
    for part, length in zip(deal(np.array(seconds, dtype=float), parts), seconds, strict=True):
        busy[part] += length
    assert max(busy) <= (4 / 3 - 1 / (3 * parts)) * _best_makespan(seconds, parts) + 1e-9


def _best_makespan(seconds: list[int], parts: int) -> int:
    """The smallest possible makespan, by trying every distribution."""
    states = {(0,) * parts}
    for length in seconds:
        states = {
            tuple(sorted([*state[:part], state[part] + length, *state[part + 1 :]]))
            for state in states
            for part in range(parts)
        }
    return min(max(state) for state in states)


def test_giants_end_up_apart() -> None:
    seconds = np.array([1.0] * 50 + [1000.0] + [1.0] * 50 + [900.0, 800.0])
    dealt = deal(seconds, 3)
    assert len({int(dealt[50]), int(dealt[101]), int(dealt[102])}) == 3


@given(st.integers(2, 6), st.integers(0, 100), st.integers(0, 60))
@settings(max_examples=scaled(40))
def test_two_giants_are_never_together(parts: int, small: int, position: int) -> None:
    seconds = [1.0] * small
    seconds.insert(position, 1e5)
    seconds.append(1e5)
    dealt = deal(np.array(seconds), parts)
    giants = [part for part, length in zip(dealt, seconds, strict=True) if length == 1e5]
    assert len(set(giants)) == 2


def test_nothing_to_deal() -> None:
    assert deal(np.array([]), 3).tolist() == []


def test_the_same_chains_are_dealt_the_same_way() -> None:
    seconds = np.array([5.0, 5.0, 5.0, 1.0, 1.0])
    assert deal(seconds, 2).tolist() == deal(seconds, 2).tolist() == [0, 1, 0, 1, 1]


def test_how_long_a_chain_takes() -> None:
    urls = np.array([0, 1, 2, 10])
    delays = np.array([5.0, 5.0, 5.0, 1.0])
    assert chain_seconds(urls, delays, 0.5).tolist() == [0.0, 0.5, 6.0, 14.0]


def test_loads() -> None:
    dealt = np.array([0, 1, 0], dtype=np.int32)
    urls = np.array([10, 100, 1])
    seconds = np.array([50.0, 20.0, 0.5])
    numbers, ones = np.arange(3, dtype=np.uint64), np.ones(3, dtype=np.int64)
    chains = Chains(numbers, numbers, urls, ones, seconds, seconds)
    found = part_loads(dealt, chains, 3, threads=2, latency_s=0.5)
    assert found == [
        PartLoad(urls=11, chains=2, longest_chain_s=50.0, makespan_s=50.0),
        PartLoad(urls=100, chains=1, longest_chain_s=20.0, makespan_s=25.0),
        PartLoad(urls=0, chains=0, longest_chain_s=0.0, makespan_s=0.0),
    ]
    assert makespan(found) == pytest.approx(50.0)
    assert makespan([]) == 0.0


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(0, 5)), min_size=1, max_size=30),
    st.integers(1, 5),
)
def test_small_sites_stay_together_and_no_part_is_too_busy(
    chains: list[tuple[int, int]], parts: int
) -> None:
    seconds = np.array([length for length, _ in chains], np.float64)
    site = np.array([number for _, number in chains], np.uint64)
    dealt = deal_sites(seconds, site, parts)
    share = seconds.sum() / parts
    for number in set(site.tolist()):
        if seconds[site == number].sum() <= share / 2:
            assert len(set(dealt[site == number].tolist())) == 1
    busiest = max(seconds[dealt == part].sum() for part in range(parts))
    assert busiest <= share + max(seconds.max(), share / 2)


def test_a_site_that_is_too_large_for_one_part_is_dealt_host_by_host() -> None:
    dealt = deal_sites(np.ones(8), np.zeros(8, np.uint64), 2)
    assert sorted(dealt.tolist()) == [0, 0, 0, 0, 1, 1, 1, 1]
