"""How many jobs wait at the brokers, and how fast they become fewer: what a submission is refused
by when there are too many."""

from __future__ import annotations

import logging
import threading

from crawl.service.intake.throughput import Throughput
from crawl.service.kafka.client import Kafka
from crawl.service.kafka.membership import GROUP

_LOOK_S = 1.0
_ASK_S = 5.0

_log = logging.getLogger(__name__)


class Backlog:
    """Runs in a thread of its own, until it is stopped."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._seen = 0
        self._added = 0
        """Since it was counted."""
        self._done: int | None = None

    @property
    def waiting(self) -> int:
        """Messages that no fetching process has done with; a moment old."""
        return self._seen + self._added

    def add(self, jobs: int) -> None:
        """Counts jobs that were put there from here."""
        with self._lock:
            self._added += jobs

    def stop(self) -> None:
        self._stopping.set()

    def run(self, partitions: int, throughput: Throughput) -> None:
        """Counts until it is stopped; what was done meanwhile is told to `throughput`."""
        from confluent_kafka import KafkaException, TopicPartition

        reader = self._kafka.consumer(GROUP)
        topic = self._kafka.settings.topics.jobs
        places = [TopicPartition(topic, number) for number in range(partitions)]
        try:
            while not self._stopping.wait(_LOOK_S):
                with self._lock:
                    added = self._added
                try:
                    waiting, done = 0, 0
                    for place in reader.committed(places, timeout=_ASK_S):
                        low, high = reader.get_watermark_offsets(place, timeout=_ASK_S)
                        position = place.offset if place.offset >= 0 else low
                        waiting += max(0, high - position)
                        done += position
                except KafkaException as error:
                    _log.debug("the backlog is not known: %s", self._kafka.line(error))
                    continue
                with self._lock:
                    self._added -= added
                    self._seen = waiting
                if self._done is not None and done > self._done:
                    throughput.add(done - self._done)
                self._done = done
        finally:
            reader.close()
