from __future__ import annotations

import pytest

from crawl.fetcher.frontier.queue_stats import OpenChains, open_chains
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.values.politeness import Politeness, ServerPace
from tests.fetcher.queued import item, taken


def put(queues: HostQueues, host: str, pages: int) -> None:
    for _ in range(pages):
        queues.put(item(host))


def test_servers_at_work_and_those_that_wait_for_a_thread() -> None:
    queues = HostQueues(Politeness(ServerPace(2.0)))
    assert open_chains(queues, 0.0) == OpenChains()
    put(queues, "a.test", 4)
    put(queues, "b.test", 1)
    assert open_chains(queues, 0.0) == OpenChains(0, 8.0), "nobody asks them yet"
    first = taken(queues, 0.0)
    assert open_chains(queues, 0.0).busy == 1
    queues.release(first, 1.0, asked=True)
    # it answered in a second: three pages at 2 s + 1 s each, after the rest of the pause
    assert open_chains(queues, 1.5) == OpenChains(1, 1.5 + 3 * 3.0)
    assert open_chains(queues, 3.5) == OpenChains(0, 9.0)
    second = taken(queues, 3.5)
    queues.release(second, 3.6, asked=True)
    assert open_chains(queues, 100.0).busy == 0
    assert len({first.host, second.host}) == 2


def test_an_answer_that_does_not_come_makes_the_chain_longer() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)))
    put(queues, "a.test", 3)
    taken(queues, 10.0)
    assert open_chains(queues, 10.0) == OpenChains(1, 0.0)
    assert open_chains(queues, 30.0) == OpenChains(1, 2 * 20.0)


def test_what_is_under_way_is_no_chain_but_at_work() -> None:
    queues = HostQueues(Politeness(ServerPace(5.0)))
    put(queues, "a.test", 1)
    taken(queues, 0.0)
    assert open_chains(queues, 60.0) == OpenChains(1, 0.0)


@pytest.mark.parametrize(("now", "busy", "longest"), [(0.0, 0, 0.0), (61.0, 0, 10.0)])
def test_a_server_that_failed_is_not_at_work_before_it_is_asked_again(
    now: float, busy: int, longest: float
) -> None:
    queues = HostQueues(Politeness(ServerPace(5.0)))
    put(queues, "a.test", 2)
    queue = queues.queue("a.test")
    queue.exceptions = 1
    queue.wait_until(60.0, "failures")
    assert open_chains(queues, now) == OpenChains(busy, longest)
