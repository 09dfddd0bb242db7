from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crawl.fetcher.item import FetchItem, Purpose
from crawl.fetcher.politeness import Pace, Politeness
from crawl.fetcher.queues import HostQueues, Nothing, Outlook
from tests.fetcher.small_web import DUE

_numbers = itertools.count()


def item(host: str, key: str = "", purpose: Purpose = Purpose.PAGE) -> FetchItem:
    url = f"http://{host}/{next(_numbers)}"
    return FetchItem(url, host, f"http://{host}", key or host, DUE, purpose)


def taken(queues: HostQueues, now: float) -> FetchItem:
    found = queues.take(now)
    assert isinstance(found, FetchItem)
    return found


def test_a_server_is_asked_again_after_its_pause_and_not_before() -> None:
    queues = HostQueues(Politeness(Pace(5.0)))
    for each in (item("a.org"), item("a.org")):
        assert queues.put(each) == ""
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Nothing(None)
    queues.release(first, 1.0, asked=True)
    assert queues.take(5.9) == Nothing(6.0)
    assert taken(queues, 6.0).host == "a.org"
    assert (queues.waiting, queues.in_progress) == (0, 1)


def test_servers_are_served_by_the_moment_they_are_ready() -> None:
    queues = HostQueues(Politeness(Pace(0.0)))
    for name, moment in (("late", 9.0), ("soon", 3.0), ("middle", 6.0)):
        queues.queue(name).wait_until(moment)
        queues.put(item(name))
    assert queues.take(0.0) == Nothing(3.0)
    assert [taken(queues, 10.0).host for _ in range(3)] == ["soon", "middle", "late"]


def test_a_pause_given_while_waiting_is_kept() -> None:
    queues = HostQueues(Politeness(Pace(0.0)))
    queues.put(item("a.org"))
    queues.queue("a.org").wait_until(50.0)
    assert queues.take(10.0) == Nothing(50.0)
    assert taken(queues, 50.0).host == "a.org"


def test_whoever_asks_next_keeps_the_pauses_of_those_before() -> None:
    before = HostQueues(Politeness(Pace(5.0), max_exceptions=3))
    for host in ("asked.org", "failed.org", "closed.org", "idle.org"):
        before.put(item(host))
        before.release(taken(before, 0.0), 100.0 if host == "asked.org" else 1.0, asked=True)
    before.queue("failed.org").exceptions = 2
    before.drain(before.queue("closed.org"), "too_many_failures")
    before.forget_idle(102.0)

    after = HostQueues(Politeness(Pace(5.0)))
    after.go_on_from(before.left(102.0), now=7.0)
    assert after.put(item("closed.org")) == "too_many_failures"
    after.put(item("asked.org"))
    assert after.take(9.9) == Nothing(10.0), "three seconds of its pause are left"
    assert taken(after, 10.0).host == "asked.org"
    assert after.queue("failed.org").exceptions == 2
    after.put(item("idle.org"))
    assert taken(after, 7.0).host == "idle.org"


def test_a_closed_queue_says_why_also_after_it_was_forgotten() -> None:
    queues = HostQueues(Politeness(Pace(0.0)))
    queues.put(item("a.org"))
    queue = queues.queue("a.org")
    queue.exceptions = 3
    assert len(queues.drain(queue, "too_many_failures")) == 1
    assert queues.put(item("a.org")) == "too_many_failures"
    queues.drain(queue)
    assert queues.put(item("a.org")) == "too_many_failures", "emptying does not open it"
    queues.forget_idle(0.0)
    assert len(queues) == 0
    assert queues.put(item("a.org")) == "too_many_failures"
    assert queues.queue("a.org").exceptions == 3
    assert queues.waiting == 0


def test_a_queue_made_anew_is_not_mistaken_for_the_forgotten_one() -> None:
    """The forgotten one may still stand in the heap, where its drained items put it."""
    queues = HostQueues(Politeness(Pace(0.0)))
    queues.put(item("a.org"))
    queues.drain(queues.queue("a.org"))
    queues.forget_idle(0.0)
    again = item("a.org")
    queues.put(again)
    assert queues.take(0.0) is again


def test_only_what_has_no_more_to_do_or_to_wait_for_is_forgotten() -> None:
    queues = HostQueues(Politeness(Pace(5.0)))
    queues.queue("idle")
    queues.queue("pausing").wait_until(7.0)
    queues.queue("held").held = 1
    queues.queue("own pace").pace = Pace(1.0)
    queues.queue("robots pace").slow_down(Pace(9.0), 9.0)
    queues.put(item("busy"))
    busy = taken(queues, 0.0)
    queues.put(item("waiting"))
    queues.forget_idle(6.9)
    kept = {"pausing", "held", "own pace", "busy", "waiting"}
    assert {queue.key for queue in queues} == kept
    queues.release(busy, 7.0, asked=True)
    queues.forget_idle(7.0)
    assert {queue.key for queue in queues} == kept - {"pausing"}


def test_the_longest_chain_is_told() -> None:
    queues = HostQueues(Politeness(Pace(5.0), hosts={"fast": Pace(2.0, at_once=4)}))
    assert queues.outlook(0.0) == Outlook(0, 0, 0.0)
    for host, urls in (("a.org", 4), ("fast", 9)):
        for _ in range(urls):
            queues.put(item(host))
    assert queues.outlook(0.0) == Outlook(2, 0, 15.0)
    queues.queue("fast").wait_until(20.0)
    assert queues.outlook(0.0) == Outlook(1, 1, 20.0 + 8 * 2.0 / 4)
    assert not isinstance(queues.take(0.0), Nothing)
    assert queues.outlook(0.0).ready == 0
    assert queues.outlook(0.0).waiting == 2


def test_it_is_told_why_hosts_wait() -> None:
    queues = HostQueues(Politeness(Pace(5.0)))
    for host in ("failed", "held", "pausing", "ready"):
        queues.put(item(host))
    queues.queue("failed").exceptions = 2
    queues.queue("failed").wait_until(60.0)
    queues.queue("held").held = 1
    queues.queue("pausing").wait_until(3.0)
    outlook = queues.outlook(0.0)
    assert (outlook.ready, outlook.waiting) == (1, 3)
    assert (outlook.awaiting_robots, outlook.backed_off) == (1, 1)
    assert queues.outlook(61.0).backed_off == 0


# addresses


def spaced(hosts: int, *, ip_delay: float = 1.0, delay: float = 0.0) -> HostQueues:
    """One page on each of some hosts, all at one address."""
    queues = HostQueues(Politeness(Pace(delay), ip_delay_s=ip_delay))
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
        assert queues.take(moment + 0.5) == Nothing(None)
        queues.release(each, moment + 1.0, asked=True)
        ahead = queues.take(moment + 1.5)
        assert ahead == Nothing(moment + 2.0 if len(order) < 3 else None)
    assert order == ["h0", "h1", "h2"], "in turn"


def test_no_pause_for_the_address_where_it_was_not_asked() -> None:
    queues = spaced(2)
    queues.release(taken(queues, 0.0), 0.0, asked=False)
    assert taken(queues, 0.0).host == "h1"


def test_a_turn_that_is_not_used_is_the_next_ones() -> None:
    queues = spaced(3)
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Nothing(None)
    queues.release(first, 0.0, asked=True)  # h1 is called
    assert len(queues.drain(queues.queue("h1"))) == 1
    assert taken(queues, 1.0).host == "h2"


def test_a_queue_that_must_pause_does_not_hold_up_its_address() -> None:
    queues = spaced(3)
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Nothing(None)
    queues.queue("h1").wait_until(100.0)
    queues.release(first, 0.0, asked=True)
    second = taken(queues, 1.0)
    assert second.host == "h2"
    queues.release(second, 1.0, asked=True)
    assert queues.take(2.0) == Nothing(100.0)
    assert taken(queues, 100.0).host == "h1"


def test_a_called_queue_whose_next_item_is_elsewhere_hands_its_turn_on() -> None:
    queues = HostQueues(Politeness(Pace(0.0), ip_delay_s=1.0))
    queues.set_address("one.a.org", "192.0.2.1")
    queues.set_address("two.a.org", "192.0.2.2")
    queues.set_address("b.org", "192.0.2.1")
    queues.set_address("c.org", "192.0.2.1")
    queues.put(item("b.org"))
    queues.put(item("one.a.org", "a.org"))
    queues.put(item("c.org"))
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Nothing(None)
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
        while isinstance(found, Nothing):
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
        if isinstance(found, Nothing):
            assert found.until is not None
            now = found.until
            continue
        queues.release(found, now, asked=True)
    queues.forget_idle(now)
    assert len(queues._gates) == 1, "its pause still runs"
    queues.forget_idle(now + 1.0)
    assert (len(queues._gates), len(queues._address_of), len(queues)) == (0, 0, 0)


# whatever happens

HOSTS = [f"h{n}" for n in range(6)]
ADDRESSES = {"h0": "x", "h1": "x", "h2": "x", "h3": "y", "h4": "y"}  # h5 has none
DELAY, IP_DELAY, STEP = 3.0, 2.0, 0.5


class Servers(RuleBasedStateMachine):
    """Queues under arbitrary use, beside a plain record of what may be."""

    @initialize(at_once=st.integers(1, 2), spaced=st.booleans(), by_group=st.booleans())
    def begin(self, at_once: int, spaced: bool, by_group: bool) -> None:
        self.at_once = at_once
        self.by_group = by_group
        self.ip_delay = IP_DELAY if spaced else 0.0
        self.queues = HostQueues(Politeness(Pace(DELAY, at_once), ip_delay_s=self.ip_delay))
        for host, address in ADDRESSES.items():
            self.queues.set_address(host, address)
        self.key_of = {host: f"k{n // 2 if by_group else n}" for n, host in enumerate(HOSTS)}
        self.now = 0.0
        self.put = self.out = self.drained = 0
        self.under_way: list[FetchItem] = []
        self.not_before: dict[str, float] = defaultdict(float)
        self.address_not_before: dict[str, float] = defaultdict(float)
        self.waiting: Counter[str] = Counter()
        self.closed: set[str] = set()

    @rule(host=st.sampled_from(HOSTS), robots=st.booleans(), first=st.booleans())
    def line_up(self, host: str, robots: bool, first: bool) -> None:
        key = self.key_of[host]
        if host in ADDRESSES:
            self.queues.set_address(host, ADDRESSES[host])
        made = item(host, key, Purpose.ROBOTS if robots else Purpose.PAGE)
        refused = self.queues.put(made, first=first)
        assert bool(refused) == (key in self.closed)
        if not refused:
            self.put += 1
            self.waiting[key] += 1

    @rule(steps=st.integers(0, 8))
    def time_passes(self, steps: int) -> None:
        self.now += steps * STEP

    @rule()
    def take(self) -> None:
        found = self.queues.take(self.now)
        if isinstance(found, Nothing):
            assert found.until is None or found.until > self.now
            self._nobody_could_be_asked()
            return
        key, address = found.key, ADDRESSES.get(found.host)
        assert self.now >= self.not_before[key]
        assert sum(other.key == key for other in self.under_way) < self.at_once
        if self.ip_delay and address is not None:
            assert self.now >= self.address_not_before[address]
            assert all(ADDRESSES.get(other.host) != address for other in self.under_way)
        self.under_way.append(found)
        self.waiting[key] -= 1
        self.out += 1

    def _nobody_could_be_asked(self) -> None:
        if self.by_group and self.ip_delay:
            return  # a queue may wait at one address while an item of another comes first
        for queue in self.queues:
            if not queue.has_work or queue.ready_at > self.now:
                continue
            address = ADDRESSES.get(queue.next_host)
            assert self.ip_delay and address is not None
            is_busy = any(ADDRESSES.get(other.host) == address for other in self.under_way)
            assert is_busy or self.address_not_before[address] > self.now

    @precondition(lambda self: self.under_way)
    @rule(place=st.integers(0, 99), asked=st.booleans())
    def release(self, place: int, asked: bool) -> None:
        done = self.under_way.pop(place % len(self.under_way))
        self.queues.release(done, self.now, asked=asked)
        if asked:
            self.not_before[done.key] = max(self.not_before[done.key], self.now + DELAY)
            address = ADDRESSES.get(done.host)
            if address is not None:
                self.address_not_before[address] = self.now + self.ip_delay

    @rule(host=st.sampled_from(HOSTS), pause=st.sampled_from([1.0, 7.0]))
    def pause(self, host: str, pause: float) -> None:
        queue = self.queues.queue(self.key_of[host])
        queue.wait_until(self.now + pause)
        self.not_before[queue.key] = max(self.not_before[queue.key], self.now + pause)
        self.queues.offer(queue)

    @rule(host=st.sampled_from(HOSTS), held=st.integers(0, 1))
    def hold(self, host: str, held: int) -> None:
        queue = self.queues.queue(self.key_of[host])
        queue.held = held
        self.queues.offer(queue)

    @rule(host=st.sampled_from(HOSTS), close=st.booleans())
    def drain(self, host: str, close: bool) -> None:
        queue = self.queues.queue(self.key_of[host])
        left = self.queues.drain(queue, "closed" if close else "")
        assert len(left) == self.waiting[queue.key]
        self.waiting[queue.key] = 0
        self.drained += len(left)
        if close:
            self.closed.add(queue.key)

    @rule()
    def forget(self) -> None:
        self.queues.forget_idle(self.now)

    @rule()
    def serve_all(self) -> None:
        """Nothing is stuck: with time, everything that is not held comes out."""
        for queue in self.queues:
            queue.held = 0
            self.queues.offer(queue)
        while self.under_way:
            self.release(0, asked=False)
        while self.queues.waiting:
            found = self.queues.take(self.now)
            if isinstance(found, Nothing):
                assert found.until is not None
                self.now = found.until
                continue
            self.under_way.append(found)
            self.waiting[found.key] -= 1
            self.out += 1
            self.release(0, asked=True)

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "queues"):
            return
        assert self.put == self.out + self.drained + self.queues.waiting
        assert self.queues.waiting == sum(queue.waiting for queue in self.queues)
        assert self.queues.in_progress == len(self.under_way)
        for queue in self.queues:
            assert queue.waiting == self.waiting[queue.key]

    @invariant()
    def no_queue_stands_twice_in_the_heap(self) -> None:
        if not hasattr(self, "queues"):
            return
        entries = Counter(id(queue) for _, _, queue in self.queues._heap)
        at_gates = Counter(
            id(queue) for gate in self.queues._gates.values() for queue in gate.waiting
        )
        assert max((entries + at_gates).values(), default=0) <= 1


TestServers = Servers.TestCase
TestServers.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


@pytest.mark.parametrize("rounds", [1, 200])
def test_the_heap_does_not_grow_with_use(rounds: int) -> None:
    queues = HostQueues(Politeness(Pace(1.0)))
    now = 0.0
    for _ in range(rounds):
        for host in HOSTS:
            queues.put(item(host))
            queues.queue(host).wait_until(now + 0.5)
            queues.offer(queues.queue(host))
            queues.drain(queues.queue(host))
            queues.put(item(host))
        now += 2.0
        while isinstance(found := queues.take(now), FetchItem):
            queues.release(found, now, asked=True)
    assert len(queues._heap) <= len(HOSTS)
