"""The queues of all servers: which one may be asked now, and if none, when.

The servers that could be asked stand in a heap by the moment at which they are ready, so
that the next item costs O(log servers) and no thread ever spins. Hosts that share an IP
address may also have to keep a distance from each other: the address is then a second
gate that must be open.

Not safe for threads by itself: the engine holds a lock around it, the simulator has none.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from crawl.fetcher.frontier.queue import ADDRESS_MARK, AddressGate, HostQueue, Idle, ServerState
from crawl.fetcher.values.hooks import KnownServer
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import Politeness

_LOOK_ABOVE = 1000
"""Queues, or hosts with an address, that may stand about idle before they are looked through."""
_OWN_PACE_KEPT_S = 86_400.0
"""How long a queue is kept for the pace that a URL's record asked for, as a robots.txt is."""


@dataclass(frozen=True, slots=True)
class _PastFailures:
    """What is remembered of a queue that was dropped."""

    exceptions: int
    closed_reason: str
    count_until: float
    """Until then another failure would be one more in a row."""


class HostQueues:
    """The queues of all servers, by key."""

    def __init__(
        self,
        politeness: Politeness,
        max_past: int = 100_000,
        known_server: Callable[[str], KnownServer | None] | None = None,
    ) -> None:
        """With more than `max_past` queues that were dropped after failures, `forget_past` looks
        for those that are long over. `known_server` returns what a server is owed for requests
        of others, once; asked when a key is first met."""
        self._known_server = known_server
        self._recalled: set[str] = set()
        """Keys of which it had something to tell."""
        self._politeness = politeness
        self._max_past = self._look_at_past_above = max_past
        self._look_above = _LOOK_ABOVE
        self._queues: dict[str, HostQueue] = {}
        self._heap: list[tuple[float, int, HostQueue]] = []
        self._numbers = itertools.count()
        self._gates: dict[str, AddressGate] = {}
        self._address_of: dict[str, str] = {}
        self._gate_of: dict[FetchItem, AddressGate] = {}
        """The gate that each item under way has closed behind it."""
        self._called_by: dict[HostQueue, AddressGate] = {}
        """The gates that have called a queue, which has not come yet."""
        self._past: dict[str, _PastFailures] = {}
        """By key of queues that were dropped, where they have failed or are closed."""
        self._paused: dict[str, float] = {}
        """When the pauses end that another engine's requests ask for."""
        self._slowed: dict[str, float] = {}
        """The pauses that robots.txt files ask for, by key of queues that there are not."""
        self._closed_until: dict[str, float] = {}
        """When queues that are closed for a time take in again."""
        self._reopen_at = math.inf
        """When the first of them does."""
        self._gated = politeness.ip_delay_s > 0
        self.waiting = 0
        self.in_progress = 0

    def __iter__(self) -> Iterator[HostQueue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        return len(self._queues)

    def queue(self, key: str) -> HostQueue:
        """The queue of that key, made if need be."""
        queue = self._queues.get(key)
        if queue is None:
            queue = HostQueue(key, self._politeness.pace_of(key))
            past = self._past.pop(key, None)
            if past is not None:
                queue.exceptions, queue.closed_reason = past.exceptions, past.closed_reason
            elif key not in self._paused and (server := self._recall(key)) is not None:
                queue.ready_at, queue.wait_reason = server.ready_at, server.wait_reason
                queue.exceptions = server.exceptions
                self._slow_down(queue, server.crawl_delay_s)
            queue.ready_at = max(queue.ready_at, self._paused.pop(key, 0.0))
            self._slow_down(queue, self._slowed.get(key, 0.0))
            self._queues[key] = queue
        return queue

    def _slow_down(self, queue: HostQueue, crawl_delay_s: float) -> None:
        """Keeps to the pause that a robots.txt asked others for, if it may be waited for."""
        if crawl_delay_s > 0:
            pace = self._politeness.with_crawl_delay(queue.pace, crawl_delay_s)
            queue.slow_down(pace or queue.pace, crawl_delay_s)

    def _recall(self, key: str) -> KnownServer | None:
        server = None if self._known_server is None else self._known_server(key)
        if server is not None:
            self._recalled.add(key)
        return server

    def server_states(self, now: float) -> list[ServerState]:
        """What the next engine that asks these servers has to know. One that this engine was told
        of and that is owed nothing any more is among them, too."""
        states: list[ServerState] = []
        for key, each in self._past.items():
            counts_s = max(0.0, each.count_until - now)
            states.append(ServerState(key, 0.0, each.exceptions, each.closed_reason, counts_s))
        states += [
            ServerState(key, until - now) for key, until in self._paused.items() if until > now
        ]
        for queue in self._queues.values():
            # the answer to a request under way ends the fetch, or comes when it has ended
            ready_at = max(queue.ready_at, now + queue.pace.delay_s if queue.in_progress else 0.0)
            if ready_at > now or queue.exceptions or queue.closed_reason or queue.min_delay_s:
                counts_until = ready_at + self._politeness.back_off(queue.exceptions + 1, 1.0)
                counts_s = max(0.0, counts_until - now) if queue.exceptions else 0.0
                pause_s = max(0.0, ready_at - now)
                closed, min_delay_s = queue.closed_reason, queue.min_delay_s
                state = queue.key, pause_s, queue.exceptions, closed, counts_s, min_delay_s
                states.append(ServerState(*state, queue.wait_reason))
        for address, gate in self._gates.items():
            ready_at = now + self._politeness.ip_delay_s if gate.busy else gate.ready_at
            if ready_at > now:
                states.append(ServerState(f"{ADDRESS_MARK}{address}", ready_at - now))
        keys = {state.key for state in states}
        owed_less = (self._recalled | self._slowed.keys()) - keys
        delay_of = self._slowed.get
        return states + [ServerState(k, 0.0, min_delay_s=delay_of(k, 0.0)) for k in owed_less]

    def keep_pauses(self, states: Iterable[ServerState], now: float) -> None:
        """Keeps the pauses that another one's requests ask for. One that closes a server comes
        before anything is put for it."""
        for each in states:
            until = now + each.pause_s
            if each.key.startswith(ADDRESS_MARK):
                if self._gated:
                    gate = self._gates.setdefault(each.key[1:], AddressGate())
                    gate.ready_at = max(gate.ready_at, until)
                continue
            queue = self._queues.get(each.key)
            if queue is not None:
                queue.wait_until(until, each.wait_reason)
                queue.exceptions = max(queue.exceptions, each.exceptions)
                self._slow_down(queue, each.min_delay_s)
                continue
            self._paused[each.key] = max(until, self._paused.get(each.key, until))
            if each.min_delay_s:
                self._slowed[each.key] = each.min_delay_s
            if each.exceptions or each.closed_reason:
                self._remember(each.key, each.exceptions, each.closed_reason, until)

    def put(self, item: FetchItem, *, first: bool = False) -> str:
        """Puts the item in its queue; where that is closed, returns why and does not."""
        queue = self._queues.get(item.key) or self.queue(item.key)
        if queue.closed_reason:
            return queue.closed_reason
        queue.put(item, first=first)
        self.waiting += 1
        if not queue.is_scheduled:
            self.offer(queue)
        return ""

    def set_address(self, host: str, address: str) -> None:
        """Which IP address a host is at, once it is known."""
        if self._gated:
            self._address_of[host] = address

    def take(self, now: float) -> FetchItem | Idle:
        """The next item of a server that may be asked now."""
        while self._heap:
            ready_at, _, queue = self._heap[0]
            is_outdated = not queue.has_work or ready_at < queue.ready_at
            if ready_at > now and not is_outdated:
                return Idle(ready_at)
            heapq.heappop(self._heap)
            queue.is_scheduled = False
            if self._gated and not self._passes_gate(queue, now, is_outdated):
                continue
            if is_outdated:
                self.offer(queue)  # back in its place, if it has one
                continue
            item = queue.take()
            queue.taken_at = now
            self.waiting -= 1
            self.in_progress += 1
            if self._gated:
                self._close_gate(item)
            if queue.in_progress < queue.pace.at_once:
                self.offer(queue)
            return item
        return Idle(None)

    def release(self, item: FetchItem, now: float, *, asked: bool) -> HostQueue:
        """Gives the server's slot back; its pause begins now where it was asked."""
        queue = self._queues[item.key]
        queue.give_back(now, asked=asked)
        self.in_progress -= 1
        if self._gated:
            self._open_gate(item, now, asked=asked)
        self.offer(queue)
        return queue

    def offer(self, queue: HostQueue) -> None:
        """Schedules a queue anew; also to be called after it was changed from outside."""
        if not queue.is_scheduled and queue.has_work:
            self._push(queue, queue.ready_at)

    def drain(self, queue: HostQueue, reason: str = "", until: float = math.inf) -> list[FetchItem]:
        """Empties a queue, and closes it where a reason is given; for good, or for a time."""
        items = queue.drain()
        self.waiting -= len(items)
        queue.closed_reason = queue.closed_reason or reason
        if until < math.inf:
            self._closed_until[queue.key] = until
            self._reopen_at = min(self._reopen_at, until)
        return items

    def reopen(self, now: float) -> list[str]:
        """Opens the queues whose time is over; returns their keys."""
        if now < self._reopen_at:
            return []
        opened = [key for key, until in self._closed_until.items() if until <= now]
        for key in opened:
            del self._closed_until[key]
            queue = self.queue(key)
            queue.closed_reason, queue.exceptions = "", 0
        self._reopen_at = min(self._closed_until.values(), default=math.inf)
        return opened

    def forget_idle_if_many(self, now: float) -> None:
        """Does what `forget_idle` does, as often as is worth the look at all of them."""
        if len(self._queues) > self._look_above or len(self._address_of) > self._look_above:
            self.forget_idle(now)
            self._look_above = 2 * max(len(self._queues), len(self._address_of)) + _LOOK_ABOVE

    def forget_idle(self, now: float, older_than_s: float = 0.0) -> list[HostQueue]:
        """Drops queues that have nothing to do and no pause to keep, for so long; only their
        failures are remembered. A pace that robots.txt asked for must be set anew, and one that the
        records of URLs ask for, where the server was not asked for a day. Returns the queues."""
        latest = now - older_than_s
        idle = [
            queue
            for queue in self._queues.values()
            if not (queue.waiting or queue.in_progress or queue.awaited_rules)
            and queue.ready_at <= latest
            and (
                queue.min_delay_s
                or queue.ready_at <= now - _OWN_PACE_KEPT_S
                or queue.pace == self._politeness.pace_of(queue.key)
            )
        ]
        for queue in idle:
            del self._queues[queue.key]
            if queue.min_delay_s and len(self._slowed) < self._max_past:
                self._slowed[queue.key] = queue.min_delay_s
            if queue.exceptions or queue.closed_reason:
                self._remember(queue.key, queue.exceptions, queue.closed_reason, now)
        if self._gated:
            self._forget_gates(now)
        return idle

    def closed_until(self, key: str) -> float:
        """When a queue that is closed for a time takes in again; 0 where it is not."""
        return self._closed_until.get(key, 0.0)

    def forget_past(self, now: float) -> None:
        """Forgets failures of queues that were dropped, where there are many: of a server that
        was since left alone for as long as its next failure would have it wait. Those that are
        closed stay so: for good, they belong to a fetch that has an end; else see `reopen`."""
        if len(self._past) > self._look_at_past_above:
            self._past = {
                key: each
                for key, each in self._past.items()
                if each.closed_reason or each.count_until > now
            }
            self._look_at_past_above = max(self._max_past, 2 * len(self._past))

    def _remember(self, key: str, exceptions: int, closed_reason: str, idle_from: float) -> None:
        count_until = idle_from + self._politeness.back_off(exceptions + 1, 1.0)
        self._past[key] = _PastFailures(exceptions, closed_reason, count_until)

    def _forget_gates(self, now: float) -> None:
        hosts = {
            item.host
            for queue in self._queues.values()
            for line in (queue.pages, queue.robots)
            for item in line
        }
        hosts.update(item.host for item in self._gate_of)  # they may have to be asked again
        self._address_of = {
            host: address for host, address in self._address_of.items() if host in hosts
        }
        self._gates = {
            address: gate
            for address, gate in self._gates.items()
            if gate.busy or gate.waiting or gate.called or gate.ready_at > now
        }

    def _push(self, queue: HostQueue, moment: float) -> None:
        queue.is_scheduled = True
        heapq.heappush(self._heap, (moment, next(self._numbers), queue))

    def _gate(self, host: str) -> AddressGate | None:
        address = self._address_of.get(host)
        if address is None:
            return None
        gate = self._gates.get(address)
        if gate is None:
            server = self._recall(f"{ADDRESS_MARK}{address}")
            gate = AddressGate(ready_at=0.0 if server is None else server.ready_at)
            self._gates[address] = gate
        return gate

    def _passes_gate(self, queue: HostQueue, now: float, is_outdated: bool) -> bool:
        """Whether the queue may go on, as far as its address is concerned; otherwise it
        waits there. A call that is not used goes to the next."""
        caller = self._called_by.pop(queue, None)
        if caller is not None:
            caller.called = None
        gate = None if is_outdated else self._gate(queue.next_host)
        if caller is not None and caller is not gate:
            self._call_next(caller)
        if gate is None:
            return True
        if not gate.busy and gate.called is None and gate.ready_at <= now:
            return True
        queue.is_scheduled = True
        gate.waiting.append(queue)
        if not gate.busy and gate.called is None:
            self._call_next(gate)
        return False

    def _call_next(self, gate: AddressGate) -> None:
        """Calls the first queue that can pass as soon as the gate opens."""
        while gate.waiting:
            queue = gate.waiting.popleft()
            queue.is_scheduled = False
            if queue.has_work and queue.ready_at <= gate.ready_at:
                gate.called = queue
                self._called_by[queue] = gate
                self._push(queue, gate.ready_at)
                return
            self.offer(queue)

    def _close_gate(self, item: FetchItem) -> None:
        gate = self._gate(item.host)
        if gate is not None:
            gate.busy = True
            self._gate_of[item] = gate

    def _open_gate(self, item: FetchItem, now: float, *, asked: bool) -> None:
        gate = self._gate_of.pop(item, None)
        if gate is None:
            return
        gate.busy = False
        if asked:
            gate.ready_at = now + self._politeness.ip_delay_s
        if gate.called is None:
            self._call_next(gate)
