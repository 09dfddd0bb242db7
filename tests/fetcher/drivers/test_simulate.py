from __future__ import annotations

import itertools
import statistics
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.fetcher.drivers.simulate import (
    Latency,
    ListedUrls,
    PartPlan,
    listed_urls,
    made_urls,
    makespan,
    plan_part,
    sizes_of_hosts,
)
from crawl.model.datum import FETCH_DELAY_KEY
from crawl.model.records import to_table
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_writer
from crawl.storage.segments import PartFile
from crawl.urls.parse import host_of
from tests.fetcher.small_web import DUE

EVEN = Latency(0.5, spread=0)


def plan(urls: ListedUrls, latency: Latency = EVEN, **values: object) -> PartPlan:
    properties = {name.replace("_", "."): value for name, value in values.items()}
    return plan_part(0, urls, Config.of(properties), latency)


def pages(**hosts: int) -> ListedUrls:
    return iter(
        [(f"http://{name}.test/{n}", DUE) for name, many in hosts.items() for n in range(many)]
    )


def test_one_host_takes_its_chain() -> None:
    simulation = plan(pages(a=10), fetcher_server_delay=2.0, fetcher_threads_fetch=4)
    assert simulation.seconds == pytest.approx(11 * 0.5 + 10 * 2.0)
    assert simulation.ideal_s == pytest.approx(simulation.seconds)
    assert simulation.counters["robots_requests"] == 1
    assert simulation.counters["requests"] == 11
    assert simulation.urls == 10
    assert simulation.thread_use == pytest.approx(11 * 0.5 / (simulation.seconds * 4))
    assert simulation.urls_per_s == pytest.approx(10 / simulation.seconds)
    [host] = simulation.longest
    assert (host.key, host.requests) == ("a.test", 11)
    assert host.asking_s == pytest.approx(5.5)
    assert host.pausing_s == pytest.approx(20.0)
    assert host.waiting_s == pytest.approx(0.0, abs=1e-6)


def test_too_few_threads_are_the_bound() -> None:
    hosts = {f"h{n}": 1 for n in range(20)}
    simulation = plan(pages(**hosts), fetcher_server_delay=0.0, fetcher_threads_fetch=2)
    assert simulation.ideal_s == pytest.approx(20 * 2 * 0.5 / 2)
    assert simulation.seconds == pytest.approx(simulation.ideal_s)
    assert simulation.thread_use == pytest.approx(1.0)
    assert max(host.waiting_s for host in simulation.longest) > 5


def test_several_requests_at_once_shorten_the_chain() -> None:
    simulation = plan(
        pages(a=40), fetcher_server_delay=5.0, fetcher_threads_per_queue=4, fetcher_threads_fetch=10
    )
    assert simulation.ideal_s == pytest.approx(41 * 0.5 / 4)
    assert simulation.ideal_s <= simulation.seconds <= simulation.ideal_s + 1.0


def test_one_queue_a_domain() -> None:
    urls = [(f"http://{name}.example.org/{n}", DUE) for name in "ab" for n in range(3)]
    simulation = plan(iter(urls), fetcher_queue_mode="byDomain", fetcher_server_delay=1.0)
    assert [(host.key, host.requests) for host in simulation.longest] == [("example.org", 8)]


def test_the_time_limit_is_kept() -> None:
    simulation = plan(pages(a=1000), fetcher_server_delay=1.0, fetcher_timelimit_mins=1)
    assert simulation.seconds <= 60.5
    assert simulation.handed_back == 1000 - simulation.counters["records"]
    assert simulation.urls == 1000


def test_nothing_listed_takes_no_time() -> None:
    simulation = plan(iter([]))
    assert (
        simulation.seconds,
        simulation.ideal_s,
        simulation.thread_use,
        simulation.urls_per_s,
    ) == (0.0, 0.0, 0.0, 0.0)
    assert simulation.longest == ()


@given(
    hosts=st.lists(st.integers(1, 8), min_size=1, max_size=8),
    threads=st.integers(1, 6),
    delay=st.sampled_from([0.0, 0.3, 2.0]),
    at_once=st.integers(1, 3),
)
def test_nothing_is_faster_than_the_ideal(
    hosts: list[int], threads: int, delay: float, at_once: int
) -> None:
    simulation = plan(
        pages(**{f"h{n}": many for n, many in enumerate(hosts)}),
        Latency(0.4, spread=0.8),
        fetcher_threads_fetch=threads,
        fetcher_server_delay=delay,
        fetcher_server_min_delay=delay,
        fetcher_threads_per_queue=at_once,
    )
    assert simulation.seconds >= simulation.ideal_s - 1e-6
    assert simulation.counters["records"] == sum(hosts)
    assert simulation.hosts == simulation.counters["robots_requests"] == len(hosts)
    assert 0 < simulation.thread_use <= 1 + 1e-9


def test_the_same_seed_gives_the_same_plan() -> None:
    def seconds_for(seed: int) -> float:
        return plan_part(0, pages(a=20, b=9), Config(), Latency(1.0), seed=seed).seconds

    assert seconds_for(1) == seconds_for(1)
    assert seconds_for(1) != seconds_for(2)


def test_latencies_have_the_mean_that_was_asked_for() -> None:
    draw = Latency(0.8, spread=0.7).source(seed=3)
    drawn = [draw("a.org") for _ in range(50_000)]
    assert statistics.mean(drawn) == pytest.approx(0.8, rel=0.03)
    assert min(drawn) > 0
    assert {Latency(0.8, spread=0).source(1)("a.org") for _ in range(9)} == {0.8}
    assert Latency(0.0).source(1)("a.org") == 0.0


@given(st.integers(1, 300), st.integers(0, 5000), st.floats(0, 3))
def test_every_url_of_a_distribution_has_a_host(hosts: int, urls: int, skew: float) -> None:
    sizes = sizes_of_hosts(hosts, urls, skew)
    assert len(sizes) == hosts
    assert sizes.sum() == urls
    assert min(sizes) >= 0
    assert all(more + 1 >= less for more, less in itertools.pairwise(sizes))
    if skew == 0:
        assert max(sizes) - min(sizes) <= 1


def test_parts_share_a_distribution_by_host() -> None:
    sizes = sizes_of_hosts(30, 1000, 1.0)
    parts = [[url for url, _ in made_urls(sizes, part, 4, seed=9)] for part in range(4)]
    hosts = [{host_of(url) for url in part} for part in parts]
    assert sum(map(len, parts)) == len({url for part in parts for url in part}) == 1000
    assert all(not one & two for one, two in itertools.combinations(hosts, 2))
    counts = Counter(host_of(url) for part in parts for url in part)
    assert counts["host0.test"] == sizes[0]
    first = [host_of(url) for url in parts[0]]
    assert first != sorted(first, key=str), "the hosts take turns"


def test_parts_follow_one_another_where_tasks_are_few() -> None:
    assert makespan([3.0, 5.0, 4.0]) == 5.0
    assert makespan([3.0, 5.0, 4.0], 1) == 12.0
    assert makespan([3.0, 5.0, 4.0], 2) == 7.0
    assert makespan([3.0], 8) == 3.0
    assert makespan([]) == 0.0


def test_a_fetch_list_is_read_with_the_delays_of_its_records(tmp_path: Path) -> None:
    segment = Folder(str(tmp_path))
    rows = [
        ("http://a.org/1", "a.org", DUE),
        ("http://b.org/1", "b.org", type(DUE)(DUE.status, 7, metadata={FETCH_DELAY_KEY: "9000"})),
        ("http://b.org/2", "b.org", DUE),
    ]
    with open_writer(segment.child("crawl_generate"), "part.parquet", CRAWLDB.schema, 2) as writer:
        writer.write(to_table(rows))
    file = PartFile(0, "part.parquet", 3, 0)
    listed = list(listed_urls(segment, file))
    assert [url for url, _ in listed] == [url for url, _, _ in rows]
    assert listed[1][1].metadata == {FETCH_DELAY_KEY: "9000"}
    simulation = plan(listed_urls(segment, file), fetcher_server_delay=1.0)
    assert simulation.seconds == pytest.approx(3 * 0.5 + 2 * 9.0)
