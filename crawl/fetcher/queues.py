"""All servers' queues: who may be asked now, and if nobody, when.

The servers that could be asked stand in a heap by the moment at which they are ready, so
that the next item costs O(log servers) and nobody ever spins. Hosts that share an IP
address may also have to keep a distance from each other: the address is then a second
gate that must be open.

Not safe for threads by itself: the engine holds a lock around it, the simulator has none.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from crawl.fetcher.item import FetchItem
from crawl.fetcher.politeness import Politeness
from crawl.fetcher.queue import HostQueue


@dataclass(slots=True, eq=False)
class _Gate:
    """One IP address: at most one request at a time, and a pause after each."""

    busy: bool = False
    ready_at: float = 0.0
    waiting: deque[HostQueue] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nobody may be asked now."""

    until: float | None
    """The moment at which somebody may be; None while that hangs on a request under way,
    or if nothing is left at all."""


class HostQueues:
    """The queues by key."""

    def __init__(self, politeness: Politeness, gates: bool | None = None) -> None:
        self._politeness = politeness
        self._queues: dict[str, HostQueue] = {}
        self._heap: list[tuple[float, int, HostQueue]] = []
        self._in_heap: set[str] = set()
        self._numbers = itertools.count()
        self._gates: dict[str, _Gate] = {}
        self._address_of: dict[str, str] = {}
        self._gate_of: dict[FetchItem, _Gate] = {}
        """The gate that each item under way has closed behind it."""
        self._gated = politeness.ip_delay_s > 0 if gates is None else gates
        self.waiting = 0
        self.in_progress = 0

    def __iter__(self) -> Iterator[HostQueue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        return len(self._queues)

    def queue(self, key: str) -> HostQueue:
        """The queue of that key, made if need be."""
        found = self._queues.get(key)
        if found is None:
            found = HostQueue(key, self._politeness.pace_of(key))
            self._queues[key] = found
        return found

    def put(self, item: FetchItem, *, first: bool = False) -> str:
        """Lines the item up; where its queue is blocked, says why and does not."""
        queue = self.queue(item.key)
        if queue.blocked:
            return queue.blocked
        queue.put(item, first=first)
        self.waiting += 1
        self._offer(queue)
        return ""

    def set_address(self, host: str, address: str) -> None:
        """Which IP address a host is at, once it is known."""
        self._address_of[host] = address

    def take(self, now: float) -> FetchItem | Nothing:
        """The next item of a server that may be asked now."""
        while self._heap:
            ready_at, _, queue = self._heap[0]
            if not queue.has_work or ready_at < queue.ready_at:
                heapq.heappop(self._heap)
                self._in_heap.discard(queue.key)
                self._offer(queue)  # an outdated entry: back in its place, if anywhere
                continue
            if ready_at > now:
                return Nothing(ready_at)
            heapq.heappop(self._heap)
            self._in_heap.discard(queue.key)
            if not self._passes_gate(queue, now):
                continue
            item = queue.take()
            self.waiting -= 1
            self.in_progress += 1
            self._close_gate(item)
            self._offer(queue)
            return item
        return Nothing(None)

    def release(self, item: FetchItem, now: float, *, asked: bool) -> HostQueue:
        """Gives the server's slot back; its pause begins now where it was asked."""
        queue = self._queues[item.key]
        queue.give_back(now, asked=asked)
        self.in_progress -= 1
        self._open_gate(item, now, asked=asked)
        self._offer(queue)
        return queue

    def offer(self, queue: HostQueue) -> None:
        """To be told after a queue was changed from outside: held, released, paced anew."""
        self._offer(queue)

    def drain(self, queue: HostQueue, reason: str = "") -> list[FetchItem]:
        """Empties a queue, and closes it where a reason is given."""
        left = queue.drain()
        self.waiting -= len(left)
        queue.blocked = reason
        return left

    def forget_idle(self, now: float) -> None:
        """Drops queues that have nothing to do and nothing to remember."""
        idle = [
            key
            for key, queue in self._queues.items()
            if not queue.waiting
            and not queue.in_progress
            and queue.ready_at <= now
            and not (queue.exceptions or queue.held or queue.blocked)
            and queue.pace == self._politeness.pace_of(key)
        ]
        for key in idle:
            del self._queues[key]

    def serial_seconds(self, now: float) -> float:
        """How long the longest queue takes at the least: what an ETA rests on."""
        return max(
            (
                max(0.0, queue.ready_at - now)
                + max(0, queue.waiting - 1) * queue.pace.delay_s / queue.pace.at_once
                for queue in self._queues.values()
                if queue.waiting
            ),
            default=0.0,
        )

    def _offer(self, queue: HostQueue) -> None:
        if queue.has_work and queue.key not in self._in_heap:
            self._in_heap.add(queue.key)
            heapq.heappush(self._heap, (queue.ready_at, next(self._numbers), queue))

    def _gate(self, host: str) -> _Gate | None:
        if not self._gated:
            return None
        address = self._address_of.get(host)
        return None if address is None else self._gates.setdefault(address, _Gate())

    def _passes_gate(self, queue: HostQueue, now: float) -> bool:
        host = (queue.robots or queue.pages)[0].host
        gate = self._gate(host)
        if gate is None:
            return True
        if gate.busy:
            gate.waiting.append(queue)  # offered again when the request under way ends
            self._in_heap.add(queue.key)
            return False
        if gate.ready_at > now:
            queue.wait_until(gate.ready_at)
            self._offer(queue)
            return False
        return True

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
        while gate.waiting:
            queue = gate.waiting.popleft()
            self._in_heap.discard(queue.key)
            queue.wait_until(gate.ready_at)
            self._offer(queue)
