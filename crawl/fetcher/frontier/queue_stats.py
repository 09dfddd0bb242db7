"""How many queues are ready or wait, and for how long."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.queue_values import LongWait, QueueStats

_LONG_S = 5.0
"""A pause that people want to know of."""
_MAX_LONG_WAITS = 3


def stats_of(queues: Iterable[HostQueue], now: float) -> QueueStats:
    """How many queues are ready or wait: for progress displays and an ETA."""
    ready = waiting = awaiting = backed_off = 0
    longest = 0.0
    waits: list[LongWait] = []
    for queue in queues:
        if queue.has_work and queue.ready_at <= now:
            ready += 1
        elif queue.waiting or queue.in_progress:
            waiting += 1
            if queue.awaited_rules:
                awaiting += 1
            elif queue.exceptions and queue.ready_at > now:
                backed_off += 1
            if queue.waiting and queue.ready_at - now > _LONG_S:
                reason = queue.wait_reason or "crawl delay"
                waits.append(LongWait(queue.next_host, reason, queue.ready_at))
        if queue.waiting:
            pauses = max(0, queue.waiting - 1) * queue.pace.delay_s / queue.pace.at_once
            longest = max(longest, max(0.0, queue.ready_at - now) + pauses)
    first = heapq.nsmallest(_MAX_LONG_WAITS, waits, key=lambda wait: wait.until)
    return QueueStats(ready, waiting, longest, awaiting, backed_off, tuple(first))
