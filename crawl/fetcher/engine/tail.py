"""The end of a fetch, where all that is left are servers in trouble: they must not hold it up.

Their URLs are returned unfetched, and the CrawlDb keeps the pauses that they are owed.
"""

from __future__ import annotations

from collections.abc import Callable

from crawl.fetcher.engine.core import EngineCore
from crawl.fetcher.engine.robots_handler import RobotsHandler
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.queues import Idle


def leave_tail(
    engine: EngineCore,
    robots: RobotsHandler,
    close: Callable[[HostQueue, str, float], None],
    idle: Idle,
    now: float,
    most_s: float,
) -> bool:
    """Returns all that waits unfetched, where none of the servers can be asked within `most_s` and
    each of them is in trouble; says whether it did."""
    queues = engine.queues
    if queues.in_progress or engine.stopped or idle.until is None:
        return False
    if idle.until - now <= most_s:
        return False
    waiting = [queue for queue in queues if queue.waiting]
    if not all(_is_in_trouble(queue, robots) for queue in waiting):
        return False
    for queue in waiting:
        if queue.exceptions:
            close(queue, "pause_beyond_tail_wait", now)
        else:  # not closed: the host's other authorities may have rules
            engine.return_unfetched(queues.drain(queue), "robots_deferred")
    return bool(waiting)


def _is_in_trouble(queue: HostQueue, robots: RobotsHandler) -> bool:
    """Whether it waits for more than its usual pause; pages alone that are held back hang on
    a robots.txt that waits in another queue."""
    if queue.exceptions:
        return True
    if queue.robots:
        return all(robots.is_deferred(item.robots_for) for item in queue.robots)
    return queue.awaited_rules > 0
