"""The end of a fetch, where all that is left are servers in trouble: they must not hold it up.

Their URLs are returned unfetched, and the CrawlDb keeps the pauses that they are owed.

Nor does it wait for servers that take a request and say nothing.

A server's first request of a fetch is for its robots.txt. Where nothing else is left to be
done, such requests alone would hold a round for the whole `http.timeout`. They are given up
sooner, and their hosts put off as after a timeout, under these conditions:

- every request under way is for a robots.txt, and has been for as long as `fetcher.tail.silence`
  says, for the usual pause between two requests to a server, and for four times as long as
  the slowest robots.txt of this fetch took;
- another server has answered or refused in this fetch: where none has, it may be the network,
  or one slow server alone;
- none of the hosts was given up like this before: one that was is given all of its time when it
  is tried again, and keeps that right once it has answered.

A request that is given up counts as one that was sent: its server's pause begins, and an
answer that still comes is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from crawl.fetcher.engine.core import EngineCore
from crawl.fetcher.engine.robots_handler import RobotsHandler
from crawl.fetcher.frontier.queue import HostQueue, Idle
from crawl.fetcher.values.item import FetchItem
from crawl.model.hosts import UNANSWERED
from crawl.urls.parse import host_of

_TIMES_SLOWER = 4
_LOOK_AGAIN_S = 0.1
"""Between two looks answers are read that have come: this process may have been held up."""
_ANSWERED_WITHIN_S = 86_400.0
"""A request that was given up has ended by then, or a driver that has ended had it under way."""


@dataclass(slots=True)
class SilentServers:
    """The requests for a robots.txt that are under way."""

    min_wait_s: float
    """How long each is waited for at the least; infinite: until its request ends."""
    is_slow_host: Callable[[str], bool]
    """Whether a host is known to need all of its time."""
    _given_up: dict[FetchItem, float] = field(default_factory=dict)
    """When they were given up, of those whose answer has not come."""
    _since: dict[FetchItem, float] = field(default_factory=dict)
    _slowest_s: float | None = None
    """Of the answers so far, refusals included."""
    _look_again: float = 0.0
    _slow_hosts: dict[str, bool] = field(default_factory=dict)
    """Whether the hosts are slow that are being asked."""

    def __len__(self) -> int:
        return len(self._since)

    def asked(self, item: FetchItem, now: float) -> None:
        self._since[item] = now

    def answered(self, item: FetchItem, now: float) -> bool:
        """Takes note of an answer, or a failure; False where the request was given up."""
        if item in self._given_up:
            del self._given_up[item]  # a request has one answer
            return False
        since = self._since.pop(item, now)
        self._slowest_s = max(self._slowest_s or 0.0, now - since)
        self._look_again = 0.0
        return True

    def waited_until(self) -> float:
        """When the last of them has been waited for long enough; where none has answered,
        never."""
        if not self._since or self._slowest_s is None:
            return math.inf
        patience_s = max(self.min_wait_s, _TIMES_SLOWER * self._slowest_s)
        last = next(reversed(self._since.values()))
        return max(last + patience_s, self._look_again)

    def give_up_all(self, now: float) -> list[FetchItem]:
        """Gives up all of them, unless one needs more time; at the second call."""
        hosts = {host_of(f"{item.robots_for}/") or "" for item in self._since}
        before = self._slow_hosts
        self._slow_hosts = {
            host: before[host] if host in before else self.is_slow_host(host) for host in hosts
        }
        if any(self._slow_hosts.values()):
            self.min_wait_s = math.inf  # as long as it takes, and so for all
            return []
        if not self._look_again:
            self._look_again = now + _LOOK_AGAIN_S
            return []
        items = list(self._since)
        self._given_up = {
            item: since
            for item, since in self._given_up.items()
            if since > now - _ANSWERED_WITHIN_S
        }
        self._given_up.update(dict.fromkeys(items, now))
        self._since.clear()
        self._look_again = 0.0
        return items


@dataclass(frozen=True, slots=True)
class Tail:
    """Looks, whenever no server may be asked, whether only such servers are left."""

    engine: EngineCore
    robots: RobotsHandler
    max_wait_s: float
    """How long a server in trouble is waited for."""
    silent: SilentServers

    def wait(self, idle: Idle, now: float) -> Idle | None:
        """Returns how long to wait; None where something was returned unfetched instead."""
        queues = self.engine.queues
        if self.engine.stopped or queues.in_progress != len(self.silent):
            return idle
        if idle.until is not None and idle.until - now <= self.max_wait_s:
            return idle
        if self.silent and self.silent.waited_until() > now:
            return self._sooner(idle)
        waiting = [queue for queue in queues if queue.waiting]
        if not all(_is_in_trouble(queue, self.robots) for queue in waiting):
            return idle
        if self.silent:
            return None if self._give_up_silent(now) else self._sooner(idle)
        if idle.until is None or not waiting:
            return idle
        for queue in waiting:
            if queue.exceptions:
                self.engine.close(queue, "pause_beyond_tail_wait", now)
            else:  # not closed: the host's other authorities may have rules
                self.engine.return_unfetched(queues.drain(queue), "robots_deferred")
        return None

    def _sooner(self, idle: Idle) -> Idle:
        """Waits until silent servers have had their time, if none may be asked sooner."""
        until = self.silent.waited_until()
        if until == math.inf or (idle.until is not None and idle.until <= until):
            return idle
        return Idle(until)

    def _give_up_silent(self, now: float) -> bool:
        """Gives up the requests that get no answer, if it is time; returns whether it was."""
        given_up = self.silent.give_up_all(now)
        for item in given_up:
            self.engine.queues.release(item, now, asked=True)
            for name in ("requests", "robots_requests", UNANSWERED):
                self.engine.counters[name] += 1
            self.robots.give_up(item.robots_for, UNANSWERED, reply="robots.txt: no answer yet")
        return bool(given_up)


def _is_in_trouble(queue: HostQueue, robots: RobotsHandler) -> bool:
    """Whether it waits for more than its usual pause; pages alone that are held back hang on
    a robots.txt that waits in another queue."""
    if queue.exceptions:
        return True
    if queue.robots:
        return all(robots.is_deferred(item.robots_for) for item in queue.robots)
    return queue.awaited_rules > 0
