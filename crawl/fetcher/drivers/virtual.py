"""Runs the engine in virtual time: the same queues and rules, and not a byte is sent.

A simulated week takes seconds. Tests prove politeness with it, and `crawl simulate`
plans a fetch before it is run.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.interfaces.protocol import Failure, Response
from crawl.model.datum import CrawlDatum

AnswerFunction = Callable[[ReadyRequest, float], tuple[Response | Failure, float]]
"""Returns the answer to a request that is sent at a moment, and how many seconds it takes."""


class VirtualClock:
    """A clock that only `run_virtual` moves."""

    def __init__(self, start_ms: int = 0) -> None:
        self._start_ms = start_ms
        self.now = 0.0

    def now_ms(self) -> int:
        return self._start_ms + round(self.now * 1000)

    def monotonic(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request as the server saw it."""

    url: str
    host: str
    key: str
    begun: float
    ended: float


@dataclass(slots=True)
class VirtualRun:
    """What a run in virtual time took, and sent."""

    seconds: float = 0.0
    busy_s: float = 0.0
    """Seconds that all threads together spent with requests."""
    sent: list[SentRequest] = field(default_factory=list)


def run_virtual(
    engine: FetchEngine,
    answer: AnswerFunction,
    threads: int,
    clock: VirtualClock,
    *,
    keep: bool = True,
    feed: Iterable[tuple[float, str, CrawlDatum]] = (),
) -> VirtualRun:
    """Runs until the engine is done; `keep`s the requests in the result. An engine that is fed
    gets the URLs of the `feed` at their moments, in whose order they are, and ends after them."""
    run = VirtualRun()
    feeding = iter(feed)
    next_fed = next(feeding, None)
    free_threads = threads
    numbers = itertools.count()
    under_way: list[tuple[float, int, ReadyRequest, Response | Failure, float]] = []
    while True:
        until: float | None = None
        is_over = False
        while next_fed is not None and next_fed[0] <= clock.now:
            engine.add(next_fed[1], next_fed[2], clock.now)
            next_fed = next(feeding, None)
        if next_fed is None:
            engine.end_feed()
        while free_threads:
            step = engine.next_request(clock.now)
            if isinstance(step, ReadyRequest):
                response, seconds = answer(step, clock.now)
                ends = clock.now + seconds
                heapq.heappush(under_way, (ends, next(numbers), step, response, clock.now))
                free_threads -= 1
                continue
            is_over = step is None
            until = None if step is None else step.until
            break
        if next_fed is not None:
            until = next_fed[0] if until is None else min(until, next_fed[0])
        if is_over or (not under_way and until is None):
            run.seconds = clock.now
            if is_over and next_fed is not None:  # it has been stopped, and gives them back
                for _, url, datum in itertools.chain([next_fed], feeding):
                    engine.add(url, datum, clock.now)
            for _, _, work, _, begun in under_way if keep else ():  # given up
                run.sent.append(_sent(work, begun, clock.now))
            return run
        next_end = under_way[0][0] if under_way else float("inf")
        clock.now = max(clock.now, min(next_end, float("inf") if until is None else until))
        while under_way and under_way[0][0] <= clock.now:
            ends, _, work, response, begun = heapq.heappop(under_way)
            free_threads += 1
            run.busy_s += ends - begun
            if keep:
                run.sent.append(_sent(work, begun, ends))
            engine.handle(work, response, ends)
            engine.commit_point(ends)


def _sent(work: ReadyRequest, begun: float, ended: float) -> SentRequest:
    return SentRequest(work.item.url, work.item.host, work.item.key, begun, ended)
