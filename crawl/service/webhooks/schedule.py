"""Which delivery is tried next: none before its time, few of one endpoint at once, and of
endpoints that have something due each in its turn, so that one with a long backlog does not
hold the others up."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Queue:
    """What waits for one endpoint."""

    waiting: list[tuple[int, str]] = field(default_factory=list)
    under_way: int = 0
    not_before_ms: int = 0
    listed_ms: int | None = None
    """The time under which it stands among those with something due."""


class DeliverySchedule:
    """Knows deliveries by their keys alone; their bodies are in the store. For one thread at a
    time."""

    def __init__(self, per_endpoint: int) -> None:
        self._per_endpoint = per_endpoint
        self._queues: dict[str, _Queue] = {}
        self._listed: list[tuple[int, str]] = []
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def waiting(self, webhook: str) -> int:
        """How many wait for the endpoint."""
        queue = self._queues.get(webhook)
        return len(queue.waiting) if queue else 0

    def add(self, webhook: str, key: str, due_ms: int) -> bool:
        """Puts a delivery on the schedule; False where it is there, or under way, already."""
        if key in self._known:
            return False
        self._known.add(key)
        queue = self._queues.setdefault(webhook, _Queue())
        heapq.heappush(queue.waiting, (due_ms, key))
        self._list(webhook, queue, 0)
        return True

    def take(self, now_ms: int) -> tuple[str, str] | None:
        """The webhook and key of a delivery that is due; it is under way until `done`."""
        while self._listed and self._listed[0][0] <= now_ms:
            listed_ms, webhook = heapq.heappop(self._listed)
            queue = self._queues.get(webhook)
            if queue is None or queue.listed_ms != listed_ms:
                continue  # it stands elsewhere by now
            queue.listed_ms = None
            if not queue.waiting or queue.under_way >= self._per_endpoint:
                continue
            if queue.not_before_ms > now_ms or queue.waiting[0][0] > now_ms:
                self._list(webhook, queue, 0)
                continue
            _, key = heapq.heappop(queue.waiting)
            queue.under_way += 1
            self._list(webhook, queue, now_ms)
            return webhook, key
        return None

    def done(self, webhook: str, key: str, now_ms: int) -> None:
        """Forgets a delivery that was under way; one that is to be tried again is added anew."""
        self._known.discard(key)
        queue = self._queues.get(webhook)
        if queue is None:
            return
        queue.under_way = max(0, queue.under_way - 1)
        if queue.waiting:
            self._list(webhook, queue, now_ms)
        elif not queue.under_way and queue.not_before_ms <= now_ms:
            del self._queues[webhook]

    def hold_back(self, webhook: str, until_ms: int) -> None:
        """Takes nothing of the endpoint before this moment."""
        self._queues.setdefault(webhook, _Queue()).not_before_ms = until_ms

    def next_ms(self) -> int | None:
        """When to look again; None: when something is added or done."""
        return self._listed[0][0] if self._listed else None

    def clear(self) -> None:
        """Forgets what waits. What is under way is still known."""
        for queue in self._queues.values():
            self._known.difference_update(key for _, key in queue.waiting)
            queue.waiting.clear()
        self._listed.clear()
        for webhook, queue in list(self._queues.items()):
            queue.listed_ms = None
            if not queue.under_way:
                del self._queues[webhook]

    def _list(self, webhook: str, queue: _Queue, turn_ms: int) -> None:
        """Has the endpoint stand where its first delivery is due, and not before this turn."""
        if not queue.waiting or queue.under_way >= self._per_endpoint:
            return
        at_ms = max(queue.waiting[0][0], queue.not_before_ms, turn_ms)
        if queue.listed_ms is None or at_ms < queue.listed_ms:
            queue.listed_ms = at_ms
            heapq.heappush(self._listed, (at_ms, webhook))
