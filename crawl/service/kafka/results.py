"""What fetching processes brought, on its way to the finisher: the topic of results as arrivals.

A message is done with when the finisher says of its URL that all that follows is stored; up to
there the group's offsets are committed.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.datum import CrawlDatum
from crawl.model.hosts import HostTrouble
from crawl.model.status import Status
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.fetching.robots_waits import RobotsWaits, authority_of
from crawl.service.kafka.client import Kafka, committed_now, consumed, left_within
from crawl.service.kafka.jobs_queue import KafkaJobs
from crawl.service.kafka.messages import (
    ResultMessage,
    record_of_message,
    result_message_of,
)
from crawl.service.kafka.offsets import Offsets

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_POLL_S = 0.1
_COMMIT_S = 0.5
_PROBE_S = 2.0
_MAX_PAUSES = 10_000
GROUP = "lookup"

_log = logging.getLogger(__name__)


class ResultArrivals(Arrivals):
    """Read by one thread; `ended` may be called by another."""

    def __init__(
        self,
        kafka: Kafka,
        jobs: KafkaJobs,
        robots_waits: RobotsWaits,
        clock: Clock,
        counters: Counters,
    ) -> None:
        super().__init__(lambda answer: None)
        self._kafka = kafka
        self._jobs = jobs
        self._robots_waits = robots_waits
        self._clock = clock
        self._told = counters
        self._reading = Lock()
        self._offsets: dict[int, Offsets] = {}
        self._open: dict[str, deque[tuple[int, int]]] = {}
        """Partitions and offsets of messages that are being stored, by URL."""
        self._pauses: OrderedDict[str, float] = OrderedDict()
        self._committed: dict[int, int] = {}
        self._commit_at = float("-inf")
        self._is_ending = False
        self._consumer = kafka.consumer(GROUP, {"on_commit": self._on_commit})

    def start(self) -> None:
        self._consumer.subscribe(
            [self._kafka.settings.topics.results], on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def end(self) -> None:
        """Has `take` bring nothing more."""
        self._is_ending = True

    def close(self) -> None:
        """Commits what is done, and leaves the group."""
        left_within(self._consumer, lambda: self._commit(is_last=True))

    def take(
        self, limit: int, timeout_s: float | None
    ) -> tuple[list[FetchRecord], list[tuple[FetchItem, str]], list[HostTrouble]]:
        """What has come, in the order in which it was brought."""
        records: list[FetchRecord] = []
        returned: list[tuple[FetchItem, str]] = []
        if self._is_ending:
            return records, returned, []
        self._commit()
        wait_s = _POLL_S if timeout_s is None else min(_POLL_S, timeout_s)
        for message in consumed(self._consumer, limit, wait_s):
            if message.error() is not None:
                continue
            self._begin(message)
            try:
                result = result_message_of(message.value() or b"")
                record = record_of_message(result)
            except ValueError as error:
                self._told["results.unreadable"] += 1
                _log.error("%s", self._unreadable(message, error))
                self._finish(message.partition() or 0, message.offset() or 0)
                continue
            self._told["results.read"] += 1
            self._keep(message, result)
            if record is not None:
                records.append(record)
            else:
                returned.append((_item(result), result.reason))
        return records, returned, []

    def ended(self, url: str) -> Sequence[str]:
        """What came of a URL is stored: its oldest message is done with. Jobs that come for it
        later come with a result of their own."""
        with self._reading:
            places = self._open.get(url)
            if not places:
                return ()
            partition, offset = places.popleft()
            if not places:
                del self._open[url]
        self._finish(partition, offset)
        return ()

    def pause_s(self, host: str) -> float:
        """How long a host must not be asked, as far as its owner has said."""
        with self._reading:
            until = self._pauses.get(host, float("-inf"))
        return max(0.0, until - self._clock.monotonic())

    def _begin(self, message: Message) -> None:
        partition, offset = message.partition() or 0, message.offset() or 0
        with self._reading:
            offsets = self._offsets.get(partition)
            if offsets is None:
                offsets = self._offsets[partition] = Offsets(offset)
            offsets.take(offset)

    def _finish(self, partition: int, offset: int) -> None:
        with self._reading:
            if partition in self._offsets:
                self._offsets[partition].finish(offset)

    def _keep(self, message: Message, result: ResultMessage) -> None:
        self._jobs.keep(result.jobs)
        if result.robots_until_ms:
            span = result.robots_from_ms, result.robots_until_ms
            self._robots_waits.keep(authority_of(result.url), *span)
        place = message.partition() or 0, message.offset() or 0
        with self._reading:
            self._open.setdefault(result.url, deque()).append(place)
            if result.pause_s > 0:
                self._pauses[result.host] = self._clock.monotonic() + result.pause_s
                self._pauses.move_to_end(result.host)
                while len(self._pauses) > _MAX_PAUSES:
                    self._pauses.popitem(last=False)

    def _unreadable(self, message: Message, error: ValueError) -> str:
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        return f"a result at {place} cannot be read: {self._kafka.shown(str(error))}"

    def _commit(self, *, is_last: bool = False) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        now = self._clock.monotonic()
        if now < self._commit_at and not is_last:
            return
        self._commit_at = now + _COMMIT_S
        with self._reading:
            positions = {number: each.position for number, each in self._offsets.items()}
        changed = {
            number: position
            for number, position in positions.items()
            if self._committed.get(number) != position
        }
        if not changed:
            return
        topic = self._kafka.settings.topics.results
        offsets = [TopicPartition(topic, *place) for place in changed.items()]
        try:
            if is_last:
                committed_now(self._consumer, offsets, _PROBE_S)
            else:
                self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            # such as ILLEGAL_GENERATION in a rebalance: what is stored is stored again
            self._told["results.not_committed"] += 1
            _log.info("results may be stored twice: %s", self._kafka.line(error))
        else:
            self._committed.update(changed)

    def _on_commit(self, error: KafkaError | None, partitions: list[Any]) -> None:
        if error is not None:
            self._told["results.not_committed"] += 1
            self._committed.clear()  # they are committed again

    def _on_revoke(self, consumer: Any, partitions: list[Any]) -> None:
        self._commit(is_last=True)
        self._on_lost(consumer, partitions)

    def _on_lost(self, consumer: Any, partitions: list[Any]) -> None:
        """What of them is being stored is stored by another, too, which does no harm."""
        with self._reading:
            for each in partitions:
                self._offsets.pop(each.partition, None)
                self._committed.pop(each.partition, None)


def _item(result: ResultMessage) -> FetchItem:
    """The URL as the engine gave it back there."""
    return FetchItem(result.url, result.host, "", result.host, CrawlDatum(Status.DB_UNFETCHED, 0))
