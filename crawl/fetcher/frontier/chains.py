"""How many servers are at work, and how long the last of them will be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawl.fetcher.frontier.queue import HostQueue


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
