"""The service in one process, beside Kafka: wishes come by a topic, too, and what is finished goes
to one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from crawl.clock import Clock
from crawl.config import Config
from crawl.service.kafka.client import Kafka, prepare_topics
from crawl.service.kafka.finished_topic import FinishedTopic
from crawl.service.kafka.values import KafkaSettings
from crawl.service.kafka.wishes import WishReader
from crawl.service.service import Service
from crawl.service.stores.store import Store
from crawl.service.telling.listeners import Listener
from crawl.storage.crawl_dir import CrawlDir

Listeners = Callable[[Store], Sequence[Listener]]
_ENDS_S = 2.0


class EmbeddedWithKafka(Service):
    """All roles at once."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        further_listeners: Listeners,
        settings: KafkaSettings,
    ) -> None:
        kafka = Kafka(settings)
        self._stopping = threading.Event()
        self._sender = sender = kafka.sender(None)
        topic = settings.topics.finished
        self._finished_topic = FinishedTopic(sender, topic, lambda: self._stopping.is_set())
        try:
            super().__init__(
                *(crawl_dir, config, clock),
                lambda store: (*further_listeners(store), self._finished_topic),
            )
        except BaseException:
            sender.close()
            raise
        self._wishes = WishReader(
            kafka, sender, self._finished_topic, self.intake, clock, self.counters
        )
        self._kafka = kafka

        self._wishes_thread: threading.Thread | None = None

    def start(self) -> None:
        prepare_topics(self._kafka, self._sender, self.clock, self._stopping)
        super().start()
        self._wishes_thread = self._thread("kafka-wishes", self._wishes.run)

    def _stop(self) -> None:
        self._stopping.set()
        if self._wishes_thread is not None:
            self._wishes.stop()
            self._wishes_thread.join()
        try:
            super()._stop()
        finally:
            self._sender.close(_ENDS_S)

    def close(self) -> None:
        super().close()
        self._sender.close()

    def check(self) -> None:
        super().check()
        self._sender.check()
