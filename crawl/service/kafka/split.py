"""The roles beside the one that asks servers: intake takes wishes on, lookup stores and answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from crawl.clock import Clock
from crawl.config import Config
from crawl.service import settings
from crawl.service.kafka.backlog import Backlog
from crawl.service.kafka.client import Kafka, prepare_topics
from crawl.service.kafka.finished_topic import FinishedTopic
from crawl.service.kafka.jobs_queue import KafkaJobs
from crawl.service.kafka.results import ResultArrivals
from crawl.service.kafka.values import KafkaSettings
from crawl.service.kafka.wishes import WishReader
from crawl.service.listeners import Listener
from crawl.service.queues.queue import Queue
from crawl.service.scope import Scope
from crawl.service.service import Service, ServiceStats
from crawl.service.settings import QueueBounds
from crawl.service.stores.store import Store
from crawl.storage.crawl_dir import CrawlDir

Listeners = Callable[[Store], Sequence[Listener]]
_CARE_S = 1.0
_ANSWERS_S = 0.1
"""So often somebody's answer is looked for that another process stores."""
_ENDS_S = 10.0
_OF_LOOKUP = (Scope.SEARCH, Scope.CRAWL)
"""A site crawl is in the hands of the process that stores its pages."""


class _KafkaRole(Service):
    """What both have in common: jobs go to Kafka."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        further_listeners: Listeners,
        settings: KafkaSettings,
    ) -> None:
        self._kafka = Kafka(settings)
        self._patient = self._kafka.sender(None)
        self._hasty = self._kafka.sender(settings.timeout_s)
        self._backlog = Backlog(self._kafka)
        self._finished_topic = FinishedTopic(
            self._patient, settings.topics.finished, lambda: self._stopping.is_set()
        )
        self._threads: list[threading.Thread] = []
        try:
            super().__init__(
                *(crawl_dir, config, clock),
                lambda store: (*further_listeners(store), self._finished_topic),
            )
        except BaseException:
            self._close_senders()
            raise

    def _open_queue(self) -> Queue:
        self._jobs = KafkaJobs(
            hasty=self._hasty,
            patient=self._patient,
            topic=self._kafka.settings.topics.jobs,
            pages=self.pages,
            backlog=self._backlog,
            bounds=QueueBounds.of(self.config),
            clock=self.clock,
            kept_s=self.config[settings.ANSWERS_KEPT],
        )
        return self._jobs

    def _on_queued(self) -> None:
        """The owner of the domain sees it."""

    def _join(self) -> None:
        """Makes the topics that are missing, and begins to count what waits."""
        partitions = prepare_topics(self._kafka, self._patient, self._stopping)
        self._jobs.open(partitions)
        self._threads.append(
            self._thread("kafka-backlog", lambda: self._backlog.run(partitions, self._throughput))
        )

    def _end_threads(self) -> None:
        """Waits for them; what cannot be delivered is given up after a while."""
        self._backlog.stop()
        for thread in self._threads:
            thread.join(_ENDS_S)
        if any(thread.is_alive() for thread in self._threads):
            self._close_senders()
            for thread in self._threads:
                thread.join()

    def _close_senders(self) -> None:
        self._hasty.close()
        self._patient.close()

    def close(self) -> None:
        super().close()
        self._close_senders()

    def check(self) -> None:
        self.require_running()
        self.store.check()
        self._patient.check()

    @property
    def fault(self) -> BaseException | None:
        return self._fault

    def stats(self) -> ServiceStats:
        return ServiceStats(
            waiting={"jobs": self._backlog.waiting},
            claimed=0,
            in_lane=0,
            per_second=self._throughput.per_second,
            counters=dict(sorted(self.counters.items())),
        )


class IntakeService(_KafkaRole):
    """Takes wishes on, by HTTP and by the topic; asks the store, and nobody else."""

    def _open_fetching(self) -> None:
        """Others ask."""

    def _open_finishing(self, further_listeners: Listeners) -> None:
        """Others store; whoever wants to be told of something can say so here."""
        further_listeners(self.store)
        self.search = None

    def serves(self, scope: Scope | None, path: str) -> bool:
        return scope not in _OF_LOOKUP and path != "/v1/events"

    def start(self) -> None:
        self._join()
        self._wishes = WishReader(
            self._kafka,
            self._patient,
            self._finished_topic,
            self.intake,
            self.clock,
            self.counters,
        )
        self._threads += [
            self._thread("kafka-wishes", self._wishes.run),
            self._thread("service-answers", self._look_for_answers),
        ]

    def stop(self) -> None:
        self._stopping.set()
        if self._threads:
            self._wishes.stop()
        self._end_threads()
        self.last_stats = self.stats()
        self._stack.close()
        self._close_senders()

    def _look_for_answers(self) -> None:
        """Tells those who wait here what another process has stored."""
        from crawl.errors import StorageError

        while not self._stopping.wait(_ANSWERS_S):
            for job_id in self.waiters.waited_for():
                try:
                    finished = self.answers.get(job_id)
                except StorageError:
                    break  # whoever waits is told so by the next request
                if finished is not None:
                    self.waiters.tell([finished])


class LookupService(_KafkaRole):
    """Stores what was fetched, tells of it, and answers."""

    def _open_fetching(self) -> None:
        self._results = ResultArrivals(self._kafka, self._jobs, self.clock, self.counters)
        self._arrivals = self._results
        self._fetched_from = self._results

    def _pause_s(self, host: str) -> float:
        return self._results.pause_s(host)

    def start(self) -> None:
        self._join()
        self._sandbox.start()
        self._roll.recover()
        if self.search is not None:
            self.search.start()
        self._results.start()
        self._threads += [
            self._thread("service-parses", self._parses.run),
            self._thread("service-finisher", self._finisher.run),
            self._thread("service-caretaker", self._care),
        ]
        self.crawls.resume()

    def stop(self) -> None:
        self._stopping.set()
        self._results.end()
        self._parses.stop()
        self._end_threads()
        self._results.close()
        self.crawls.save()
        self.last_stats = self.stats()
        self._stack.close()
        self._close_senders()

    def _care(self) -> None:
        while not self._stopping.wait(_CARE_S):
            self.crawls.end_those_out_of_time()
