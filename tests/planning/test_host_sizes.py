from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.fetcher.drivers.simulate import Latency, made_urls, plan_part, sizes_of_hosts
from crawl.planning.host_sizes import HostPace, HostSizes, powers

SKEWS = st.floats(0, 2.5)


@given(st.integers(1, 3000), SKEWS)
def test_the_sum_of_powers_is_that_of_its_terms(terms: int, exponent: float) -> None:
    exact = math.fsum(n**-exponent for n in range(1, terms + 1))
    assert powers(terms, exponent) == pytest.approx(exact, rel=1e-6)


@given(st.integers(1, 2000), st.integers(1, 100_000), SKEWS, st.integers(1, 5000))
def test_caps_are_those_of_the_simulators_hosts(
    hosts: int, urls: int, skew: float, most: int
) -> None:
    """Whose sizes are whole numbers: a host is off by less than one."""
    sizes = sizes_of_hosts(hosts, urls, skew).clip(max=most)
    found = HostSizes(hosts, urls, skew)
    assert abs(found.capped(most) - sizes.sum()) <= hosts + 1e-6 * urls
    assert abs(found.largest - sizes_of_hosts(hosts, urls, skew).max()) <= 1 + 1e-6 * urls


@given(st.integers(1, 10**8), st.integers(0, 4), SKEWS, st.floats(0, 1))
def test_the_cap_for_some_pages_is_the_least_that_gives_them(
    hosts: int, more: int, skew: float, share: float
) -> None:
    sizes = HostSizes(hosts, hosts * 10**more, skew)
    pages = share * sizes.urls
    cap = sizes.cap_for(pages)
    assert sizes.capped(cap) * (1 + 1e-6) >= pages
    if cap >= 1:
        assert sizes.capped(cap - 1) <= pages * (1 + 1e-6)


def test_what_the_hosts_do_not_have_no_cap_gives() -> None:
    assert HostSizes(10, 1000, 0.9).cap_for(1001) == math.inf
    assert HostSizes(10, 1000, 0).cap_for(1000) == 100
    assert HostSizes(10, 1000, 0.9).cap_for(0) == 0
    assert HostSizes(10, 1000, 0).larger_than(101) == 0
    assert HostSizes(10, 1000, 0).larger_than(100) == 10


@given(
    st.floats(0.01, 100),
    st.floats(0, 10),
    st.integers(0, 10**6),
)
def test_a_chain_takes_the_time_in_which_it_can_be_fetched(
    delay: float, latency: float, pages: int
) -> None:
    pace = HostPace(delay, latency)
    assert pace.pages_within(pace.chain_s(pages)) == pages
    assert pace.pages_within(pace.chain_s(pages) - 0.5 * (delay + latency)) == max(0, pages - 1)


def test_without_any_pause_there_is_no_bound() -> None:
    assert HostPace(0, 0).pages_within(1) == math.inf
    assert HostPace(0, 5e-324).pages_within(1) == math.inf
    assert HostPace(0, 0).chain_s(1000) == 0


@pytest.mark.parametrize("skew", [0.0, 0.9])
def test_the_simulated_fetcher_reaches_the_bound_and_is_not_faster(skew: float) -> None:
    """All pages of a small web, with threads enough: the longest chain is all the time."""
    hosts, urls, pace = 20, 400, HostPace(2.0, 0.5)
    config = Config.of({"fetcher.server.delay": 2.0, "fetcher.threads.fetch": hosts})
    listed = made_urls(sizes_of_hosts(hosts, urls, skew), 0, 1, 0)
    simulated = plan_part(0, listed, config, Latency(0.5, 0))
    bound = pace.chain_s(HostSizes(hosts, urls, skew).cap_for(urls))
    whole = 2.5  # sizes of hosts are whole numbers
    assert bound - whole <= simulated.seconds <= 1.05 * bound + whole
