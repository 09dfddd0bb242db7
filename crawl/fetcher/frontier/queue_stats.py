"""How many queues are ready or wait, how many servers are at work, and for how long."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from crawl.fetcher.frontier.queue import HostQueue

_LONG_S = 5.0
"""A pause that people want to know of."""
_MAX_LONG_WAITS = 3


@dataclass(frozen=True, slots=True)
class LongWait:
    """A server that cannot be asked for a while."""

    host: str
    reason: str
    until: float


@dataclass(frozen=True, slots=True)
class QueueStats:
    """How many queues are ready or wait at a moment, and how long they will take."""

    ready: int
    """Queues that could be asked."""
    waiting: int
    """Queues whose pause is not over, that are being asked, or whose rules are."""
    serial_s: float
    """How long the longest one takes at the least, by its pauses alone."""
    awaiting_robots: int = 0
    """Of those that wait: for a robots.txt."""
    backed_off: int = 0
    """Of those that wait: because their server failed, or asked for it."""
    waits: tuple[LongWait, ...] = ()
    """The first of the queues that wait for long."""


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


@dataclass(frozen=True, slots=True)
class IdleQueues:
    """What a look at the queues without work has found, and what became of them."""

    idle: int
    """Queues with nothing to do, nothing under way and no rules to wait for."""
    owed: int = 0
    """Of them: whose server is still owed a pause, so that they must be kept."""
    busy: int = 0
    """The other queues."""
    longest_s: float = 0.0
    """How long the first of them has had neither work nor a pause to keep."""
    retired: int = 0
    """How many of them were dropped."""


def idle_queues(queues: Iterable[HostQueue], now: float) -> IdleQueues:
    """How many queues have nothing to do. One that never was asked is as old as time, and its age
    counts for nothing."""
    idle = owed = busy = 0
    longest_s = 0.0
    for queue in queues:
        if queue.waiting or queue.in_progress or queue.awaited_rules:
            busy += 1
            continue
        idle += 1
        if queue.ready_at > now:
            owed += 1
        elif queue.ready_at:
            longest_s = max(longest_s, now - queue.ready_at)
    return IdleQueues(idle, owed, busy, longest_s)


@dataclass(frozen=True, slots=True)
class OpenChains:
    """The servers that are being asked page by page."""

    busy: int = 0
    """Those that are being asked or have their pause. Not those that only wait for a thread: if
    there are fewer of them, no thread has less to do."""
    longest_s: float = 0.0
    """How long the longest takes for its pages that wait, by pauses and answers."""


def open_chains(queues: Iterable[HostQueue], now: float) -> OpenChains:
    """A server that is left alone because it failed is none of them."""
    busy, longest_s = 0, 0.0
    for queue in queues:
        if queue.exceptions and queue.ready_at > now:
            continue
        if queue.waiting:
            longest_s = max(longest_s, _seconds_left(queue, now))
        if queue.in_progress or (queue.waiting and (queue.awaited_rules or queue.ready_at > now)):
            busy += 1
    return OpenChains(busy, longest_s)


def _seconds_left(queue: HostQueue, now: float) -> float:
    answer_s = queue.answer_s
    if queue.in_progress:
        answer_s = max(answer_s, now - queue.taken_at)
    each_s = queue.pace.delay_s + answer_s
    return max(0.0, queue.ready_at - now) + queue.waiting * each_s / queue.pace.at_once
