"""The end of a fetch, where all that is left are servers in trouble: they must not hold it.

They are handed back, and the CrawlDb keeps the pauses that they are owed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from crawl.fetcher.engine.robots_line import Fetching, RobotsLine
from crawl.fetcher.engine.silent import SilentServers
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.queues import Nothing
from crawl.model.hosts import UNANSWERED


@dataclass(frozen=True, slots=True)
class Tail:
    """Looks, whenever nobody may be asked, whether only such servers are left."""

    fetching: Fetching
    robots: RobotsLine
    close: Callable[[HostQueue, str, float], None]
    most_s: float
    """How long a server in trouble is waited for."""
    silent: SilentServers

    def wait(self, nothing: Nothing, now: float) -> Nothing | None:
        """How long to wait; None where something was handed back instead."""
        queues = self.fetching.queues
        if self.fetching.stopped or queues.in_progress != len(self.silent):
            return nothing
        if nothing.until is not None and nothing.until - now <= self.most_s:
            return nothing
        if self.silent and self.silent.waited_for_until() > now:
            return self._sooner(nothing)
        waiting = [queue for queue in queues if queue.waiting]
        if not all(_is_in_trouble(queue, self.robots) for queue in waiting):
            return nothing
        if self.silent:
            return None if self._left_silent(now) else self._sooner(nothing)
        if nothing.until is None or not waiting:
            return nothing
        for queue in waiting:
            if queue.exceptions:
                self.close(queue, "pause_beyond_tail_wait", now)
            else:  # not closed: the host's other authorities may have rules
                self.fetching.hand_back(queues.drain(queue), "robots_deferred")
        return None

    def _sooner(self, nothing: Nothing) -> Nothing:
        """Until silent servers have been waited for, if somebody may not be asked sooner."""
        until = self.silent.waited_for_until()
        if until == math.inf or (nothing.until is not None and nothing.until <= until):
            return nothing
        return Nothing(until)

    def _left_silent(self, now: float) -> bool:
        """Gives up the requests that get no answer, if it is time; says whether it was."""
        given_up = self.silent.leave(now)
        for item in given_up:
            self.fetching.queues.release(item, now, asked=True)
            for name in ("requests", "robots_requests", UNANSWERED):
                self.fetching.counters[name] += 1
            self.robots.give_up(item.robots_for, UNANSWERED)
        return bool(given_up)


def _is_in_trouble(queue: HostQueue, robots: RobotsLine) -> bool:
    """Whether it waits for more than its usual pause; pages alone that are held back hang on
    a robots.txt that waits in another queue."""
    if queue.exceptions:
        return True
    if queue.robots:
        return all(robots.is_deferred(item.robots_for) for item in queue.robots)
    return queue.held > 0
