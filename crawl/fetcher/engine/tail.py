"""The end of a fetch, where all that is left are servers in trouble: they must not hold it up.

Their URLs are returned unfetched, and the CrawlDb keeps the pauses that they are owed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from crawl.fetcher.engine.core import EngineCore
from crawl.fetcher.engine.robots_handler import RobotsHandler
from crawl.fetcher.engine.silent import SilentServers
from crawl.fetcher.frontier.queue import HostQueue, Idle
from crawl.model.hosts import UNANSWERED


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
            self.robots.give_up(item.robots_for, UNANSWERED, said="robots.txt: no answer yet")
        return bool(given_up)


def _is_in_trouble(queue: HostQueue, robots: RobotsHandler) -> bool:
    """Whether it waits for more than its usual pause; pages alone that are held back hang on
    a robots.txt that waits in another queue."""
    if queue.exceptions:
        return True
    if queue.robots:
        return all(robots.is_deferred(item.robots_for) for item in queue.robots)
    return queue.awaited_rules > 0
