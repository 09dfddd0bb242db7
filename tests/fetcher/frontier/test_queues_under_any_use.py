"""Queues used in any order, against a plain model of what is allowed."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crawl.fetcher.frontier.queue import Idle
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.values.item import FetchItem, Purpose
from crawl.fetcher.values.politeness import Politeness, ServerPace
from tests.examples import scaled
from tests.fetcher.queued import item

HOSTS = [f"h{n}" for n in range(6)]
ADDRESSES = {"h0": "x", "h1": "x", "h2": "x", "h3": "y", "h4": "y"}  # h5 has none
DELAY, IP_DELAY, STEP = 3.0, 2.0, 0.5


class Servers(RuleBasedStateMachine):
    """Queues under arbitrary use, against a plain model of what is allowed."""

    @initialize(at_once=st.integers(1, 2), spaced=st.booleans(), by_group=st.booleans())
    def begin(self, at_once: int, spaced: bool, by_group: bool) -> None:
        self.at_once = at_once
        self.by_group = by_group
        self.ip_delay = IP_DELAY if spaced else 0.0
        self.queues = HostQueues(Politeness(ServerPace(DELAY, at_once), ip_delay_s=self.ip_delay))
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
    def enqueue(self, host: str, robots: bool, first: bool) -> None:
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
        if isinstance(found, Idle):
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
        queue.awaited_rules = held
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
            queue.awaited_rules = 0
            self.queues.offer(queue)
        while self.under_way:
            self.release(0, asked=False)
        while self.queues.waiting:
            found = self.queues.take(self.now)
            if isinstance(found, Idle):
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
TestServers.settings = settings(max_examples=scaled(150), stateful_step_count=60, deadline=None)


@pytest.mark.parametrize("rounds", [1, 200])
def test_the_heap_does_not_grow_with_use(rounds: int) -> None:
    queues = HostQueues(Politeness(ServerPace(1.0)))
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
