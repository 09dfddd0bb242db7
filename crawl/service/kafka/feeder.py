"""Feeds the lane of a fetching process from what it holds: by priority, fairly between hosts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from crawl.clock import Clock
from crawl.model.answer_keys import ETAG_KEY, LAST_MODIFIED_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.lane import Lane
from crawl.service.kafka.holdings import Held, Holdings
from crawl.service.kafka.messages import JobMessage
from crawl.service.kafka.sending_right import SendingRight

_TICK_S = 0.25


class Feeder:
    """Runs in a thread of its own, until it is stopped."""

    def __init__(
        self,
        holdings: Holdings,
        lane: Lane,
        right: SendingRight,
        clock: Clock,
        interval_s: int,
    ) -> None:
        self._holdings = holdings
        self._lane = lane
        self._right = right
        self._clock = clock
        self._interval_s = interval_s
        self._in_lane: dict[str, int] = {}
        """Partitions of the URLs that are in it."""
        self._changed = threading.Condition()
        self._is_woken = False
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True
        self.wake()

    def wake(self) -> None:
        """Has it look at once: a job came, or there is room in the lane."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def run(self) -> None:
        """Claims and feeds until it is stopped; nothing while the lease is over."""
        while not self._is_stopped:
            self._wait()
            if self._right.holds():
                self._feed_what_is_due()

    def left_lane(self, url: str) -> None:
        """What came of a URL is taken care of: it may be fed again."""
        self._lane.ended(url)
        with self._changed:
            self._in_lane.pop(url, None)
        # of jobs that came for it too late somebody has to look after
        self._holdings.give_back(url, 0)
        self.wake()

    def await_ends(
        self, partitions: Collection[int], seconds: float, again: Callable[[], None]
    ) -> bool:
        """Waits until nothing of partitions is in the lane, for a while; whether it is so. `again`
        takes back what was fed at that moment."""
        deadline = self._clock.monotonic() + seconds
        while self._clock.monotonic() < deadline:
            with self._changed:
                if self._changed.wait_for(lambda: not self._is_busy(partitions), _TICK_S):
                    return True
            again()
        return False

    def _is_busy(self, partitions: Collection[int]) -> bool:
        return any(partition in partitions for partition in self._in_lane.values())

    def _wait(self) -> None:
        with self._changed:
            if not self._is_woken:
                now_ms = self._now_ms()
                due_ms = self._holdings.next_due_ms(now_ms)
                wait_s = _TICK_S if due_ms is None else min(_TICK_S, (due_ms - now_ms) / 1000)
                self._changed.wait(wait_s)
            self._is_woken = False

    def _feed_what_is_due(self) -> None:
        while (room := self._lane.room()) > 0:
            claimed = self._holdings.claim(room, self._now_ms(), self._lane.max_per_host)
            if not claimed:
                return
            for held in claimed:
                self._feed(held)

    def _feed(self, held: Held) -> None:
        url = held.job.url
        with self._changed:
            if url in self._in_lane or held.partition not in self._right.owned:
                return  # it has the answer of the one before, or is given back with it
            self._in_lane[url] = held.partition
        self._lane.feed(url, self._datum(held.message))

    def _datum(self, message: JobMessage) -> CrawlDatum:
        metadata = {}
        if message.etag:
            metadata[ETAG_KEY] = message.etag
        if message.last_modified:
            metadata[LAST_MODIFIED_KEY] = message.last_modified
        return CrawlDatum(
            Status.DB_FETCHED if message.is_known else Status.DB_UNFETCHED,
            self._clock.now_ms(),
            message.modified_ms,
            self._interval_s,
            score=1.0,
            metadata=metadata,
        )

    def _now_ms(self) -> int:
        """What moments of the holdings are in: a clock that is set changes nothing."""
        return round(self._clock.monotonic() * 1000)
