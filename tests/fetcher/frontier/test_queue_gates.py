"""Hosts at one IP address: one request at a time, and a pause after each."""

from __future__ import annotations

from crawl.fetcher.frontier.queue import Idle
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.values.item import Purpose
from crawl.fetcher.values.politeness import Politeness, ServerPace
from tests.fetcher.queued import item, taken


def spaced(hosts: int, *, ip_delay: float = 1.0, delay: float = 0.0) -> HostQueues:
    """One page on each of some hosts, all at one address."""
    queues = HostQueues(Politeness(ServerPace(delay), ip_delay_s=ip_delay))
    for n in range(hosts):
        queues.set_address(f"h{n}", "192.0.2.1")
        queues.put(item(f"h{n}"))
    return queues


def test_one_request_at_a_time_to_an_address_and_a_pause_after_it() -> None:
    queues = spaced(3)
    order = []
    for moment in (0.0, 2.0, 4.0):
        each = taken(queues, moment)
        order.append(each.host)
        assert queues.take(moment + 0.5) == Idle(None)
        queues.release(each, moment + 1.0, asked=True)
        ahead = queues.take(moment + 1.5)
        assert ahead == Idle(moment + 2.0 if len(order) < 3 else None)
    assert order == ["h0", "h1", "h2"], "in turn"


def test_no_pause_for_the_address_where_it_was_not_asked() -> None:
    queues = spaced(2)
    queues.release(taken(queues, 0.0), 0.0, asked=False)
    assert taken(queues, 0.0).host == "h1"


def test_a_turn_that_is_not_used_is_the_next_ones() -> None:
    queues = spaced(3)
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Idle(None)
    queues.release(first, 0.0, asked=True)  # h1 is called
    assert len(queues.drain(queues.queue("h1"))) == 1
    assert taken(queues, 1.0).host == "h2"


def test_a_queue_that_must_pause_does_not_hold_up_its_address() -> None:
    queues = spaced(3)
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Idle(None)
    queues.queue("h1").wait_until(100.0)
    queues.release(first, 0.0, asked=True)
    second = taken(queues, 1.0)
    assert second.host == "h2"
    queues.release(second, 1.0, asked=True)
    assert queues.take(2.0) == Idle(100.0)
    assert taken(queues, 100.0).host == "h1"


def test_a_called_queue_whose_next_item_has_another_address_lets_the_next_pass() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0), ip_delay_s=1.0))
    queues.set_address("one.a.org", "192.0.2.1")
    queues.set_address("two.a.org", "192.0.2.2")
    queues.set_address("b.org", "192.0.2.1")
    queues.set_address("c.org", "192.0.2.1")
    queues.put(item("b.org"))
    queues.put(item("one.a.org", "a.org"))
    queues.put(item("c.org"))
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Idle(None)
    queues.release(first, 0.0, asked=True)  # a.org is called to 192.0.2.1 ...
    queues.put(item("two.a.org", "a.org", Purpose.ROBOTS))  # ... but turns to 192.0.2.2 first
    assert {taken(queues, 1.0).host, taken(queues, 1.0).host} == {"two.a.org", "c.org"}


def test_many_hosts_at_one_address_cost_one_look_each() -> None:
    """Nobody comes running each time the address is free: looks are counted, not seconds."""
    hosts = 400
    queues = spaced(hosts)
    pushed = 0
    push = queues._push

    def counted(*args: object) -> None:
        nonlocal pushed
        pushed += 1
        push(*args)  # type: ignore[arg-type]

    queues._push = counted  # type: ignore[method-assign,assignment]
    now = 0.0
    for _ in range(hosts):
        found = queues.take(now)
        while isinstance(found, Idle):
            assert found.until is not None
            now = found.until
            found = queues.take(now)
        queues.release(found, now, asked=True)
    assert queues.waiting == 0
    assert pushed <= 2 * hosts


def test_addresses_without_business_are_forgotten() -> None:
    queues = spaced(50)
    now = 0.0
    while queues.waiting:
        found = queues.take(now)
        if isinstance(found, Idle):
            assert found.until is not None
            now = found.until
            continue
        queues.release(found, now, asked=True)
    queues.forget_idle(now)
    assert len(queues._gates) == 1, "its pause still runs"
    queues.forget_idle(now + 1.0)
    assert (len(queues._gates), len(queues._address_of), len(queues)) == (0, 0, 0)


def test_many_hosts_in_few_queues_are_forgotten_too() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0), ip_delay_s=1.0))
    for number in range(5000):
        queues.set_address(f"h{number}.org", f"address {number}")
        queues.put(item(f"h{number}.org", "org"))
        queues.release(taken(queues, float(number)), float(number), asked=True)
        queues.forget_idle_if_many(float(number))
    assert len(queues._address_of) <= 1001
    assert len(queues._gates) <= 1001


def test_a_request_that_is_repeated_still_waits_for_its_address() -> None:
    """Its host's address must be known, though nothing waits while it is under way."""
    queues = spaced(1)
    under_way = taken(queues, 0.0)
    queues.forget_idle(0.5)
    queues.release(under_way, 1.0, asked=True)
    queues.put(under_way, first=True)
    assert queues.take(1.0) == Idle(2.0)
