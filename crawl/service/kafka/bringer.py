"""Brings what was fetched to the topic of results. When the brokers have it, and not before, the
messages of the jobs are done with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.fetching.robots_waits import authority_of
from crawl.service.kafka.client import Outgoing, Sender
from crawl.service.kafka.holdings import Held, Holdings
from crawl.service.kafka.messages import result_message, returned_message
from crawl.service.values import Job

_MAX_BATCH = 64
_TICK_S = 0.5
_AGAIN_S = 0.3
_GIVEN_BACK = 10
"""So often a URL is given back to be asked by its owner; more, and it is not its page's server that
another owns, but the one to which its robots.txt redirects."""
_ELSEWHERE = "robots_of_another_owner"
_TOO_LARGE = "too_large_to_carry"
_STAYS = frozenset(("service_ends", "not_owner", "lease_over", "hung", "crashed"))
"""Why a URL comes back that stays a job of its partition's owner."""


class Bringer:
    """Runs in a thread of its own, until it is stopped and nothing is left."""

    def __init__(
        self,
        *,
        holdings: Holdings,
        arrivals: Arrivals,
        sender: Sender,
        topic: str,
        largest: int,
        pause_of: Callable[[str], float],
        robots_span: Callable[[str], tuple[int, int]],
        clock: Clock,
        counters: Counters,
        on_left: Callable[[str], None],
    ) -> None:
        self._holdings = holdings
        self._arrivals = arrivals
        self._sender = sender
        self._topic = topic
        self._largest = largest
        self._pause_of = pause_of
        self._robots_span = robots_span
        self._clock = clock
        self._counters = counters
        self._on_left = on_left
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self._arrivals.wake()

    def run(self) -> None:
        """Brings until it is stopped."""
        while True:
            is_last = self._stopping.is_set()
            records, returned, troubles = self._arrivals.take(_MAX_BATCH, 0 if is_last else _TICK_S)
            self._counters["host_troubles"] += len(troubles)
            try:
                for record in records:
                    self._bring(record)
                for item, reason in returned:
                    self._take_back(item, reason)
            except StorageError:
                if self._stopping.is_set():
                    return  # the jobs are done again by the next owner
                raise
            if is_last and not (records or returned):
                return

    def _bring(self, record: FetchRecord) -> None:
        held = self._holdings.of_url(record.url)
        may_come_again = record.datum.status is Status.FETCH_RETRY
        pause_s = self._pause_of(record.host) if may_come_again else 0.0
        span = self._robots_span(authority_of(record.url))
        raw = result_message(record, _jobs(held), pause_s, robots_span=span)
        if len(raw) > self._largest:
            self._arrivals.finished([record])
            self._send_returned(record.url, record.host, held, _TOO_LARGE)
            return
        self._counters["results"] += 1

        def brought(fault: str) -> None:
            self._arrivals.finished([record])
            if not fault:
                self._holdings.finish(held)
            else:
                self._counters["results.not_taken"] += 1
            self._on_left(record.url)

        self._sender.send(Outgoing(self._topic, raw, record.host.encode()), brought)

    def _take_back(self, item: FetchItem, reason: str) -> None:
        self._counters[f"returned.{reason}"] += 1
        held = self._holdings.of_url(item.url)
        if reason in _STAYS:
            if any(each.given_back >= _GIVEN_BACK for each in held) and reason == "not_owner":
                self._send_returned(item.url, item.host, held, _ELSEWHERE)
                return
            self._holdings.give_back(item.url, round((self._clock.monotonic() + _AGAIN_S) * 1000))
            self._on_left(item.url)
            return
        self._send_returned(item.url, item.host, held, reason)

    def _send_returned(self, url: str, host: str, held: list[Held], reason: str) -> None:
        raw = returned_message(url, host, _jobs(held), self._pause_of(host), reason)

        def brought(fault: str) -> None:
            if not fault:
                self._holdings.finish(held)
            else:
                self._counters["results.not_taken"] += 1
            self._on_left(url)

        self._sender.send(Outgoing(self._topic, raw, host.encode()), brought)


def _jobs(held: Sequence[Held]) -> tuple[Job, ...]:
    """Each once, however often its message came."""
    return tuple({each.job.id: each.job for each in held}.values())
