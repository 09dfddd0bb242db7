"""The roles beside the one that asks servers: intake takes wishes on, lookup stores and answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from crawl.clock import Clock
from crawl.config import Config
from crawl.service.callers.scope import Scope
from crawl.service.caretaker import Caretaker, Chore
from crawl.service.fetching.robots_waits import RobotsWaits
from crawl.service.kafka.backlog import Backlog
from crawl.service.kafka.client import Kafka, prepare_topics
from crawl.service.kafka.finished_topic import FinishedTopic
from crawl.service.kafka.jobs_queue import KafkaJobs
from crawl.service.kafka.results import ResultArrivals
from crawl.service.kafka.values import KafkaSettings
from crawl.service.kafka.wishes import WishReader
from crawl.service.queues.queue import Queue
from crawl.service.service import Service
from crawl.service.service_stats import ServiceStats
from crawl.service.settings import QueueBounds
from crawl.service.stores.store import Store
from crawl.service.telling.listeners import Listener
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

    has_own_queue = False

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        further_listeners: Listeners,
        settings: KafkaSettings,
    ) -> None:
        self._kafka = Kafka(settings)
        self._stopping = threading.Event()
        self._patient = self._kafka.sender(None)
        self._hasty = self._kafka.sender(settings.timeout_s)
        self._backlog = Backlog(self._kafka)
        self._finished_topic = FinishedTopic(
            self._patient, settings.topics.finished, lambda: self._stopping.is_set()
        )
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
            backlog=self._backlog,
            bounds=QueueBounds.of(self.config),
        )
        return self._jobs

    def _on_queued(self) -> None:
        """The owner of the domain sees it."""

    def _join(self) -> None:
        """Makes the topics that are missing, and begins to count what waits."""
        partitions = prepare_topics(self._kafka, self._patient, self.clock, self._stopping)
        self._jobs.open(partitions, self.pages)
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
        self._require_place()
        self.store.check()
        self._patient.check()

    @property
    def fault(self) -> BaseException | None:
        return self._fault

    @property
    def fetch_at_work(self) -> str:
        """Whoever asks servers has to know."""
        return ""

    def stats(self) -> ServiceStats:
        return ServiceStats(
            waiting={"normal": self._backlog.waiting},
            claimed=0,
            in_lane=0,
            per_second=self._throughput.per_second,
            counters=dict(sorted(self.counters.items())),
            is_ready=self._is_ready and self.fault is None,
            hosts=self._hosts,
            segment_age_s=self._segment_age_s(),
            published_ms=self._published_ms,
            search_behind_s=0.0 if self.search is None else self.search.behind_s,
            store_failing_s=self.store.failing_s,
        )

    def _segment_age_s(self) -> float:
        return 0.0

    def _chores(self) -> list[Chore]:
        return [Chore("readiness", _CARE_S, self._look_whether_ready)]


class IntakeService(_KafkaRole):
    """Takes wishes on, by HTTP and by the topic; asks the store, and nobody else."""

    _wishes: WishReader | None = None

    def _open_fetching(self) -> None:
        """Others ask."""

    def _open_finishing(self, further_listeners: Listeners) -> None:
        """Others store; whoever wants to be told of something can say so here."""
        further_listeners(self.store)
        self.search = None
        self._caretaker = Caretaker(self._chores(), self.clock, self.counters)

    def serves(self, scope: Scope | None, path: str) -> bool:
        return scope not in _OF_LOOKUP and path != "/v1/events"

    def start(self) -> None:
        self._join()
        wishes = WishReader(
            self._kafka,
            self._patient,
            self._finished_topic,
            self.intake,
            self.clock,
            self.counters,
        )
        self._wishes = wishes
        self._threads += [
            self._thread("kafka-wishes", wishes.run),
            self._thread("service-answers", self._look_for_answers),
            self._thread("service-caretaker", self._caretaker.run),
        ]

    def _stop(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._close_senders)
            stack.push(self._stack)
            stack.callback(self._note_stats)
            stack.callback(self._end_threads)
            if self._wishes is not None:
                stack.callback(self._wishes.stop)
            stack.callback(self._caretaker.stop)
            stack.callback(self.store.give_up)
            self._stopping.set()

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
        self._robots_waits = RobotsWaits(self.clock)
        self._results = ResultArrivals(
            *(self._kafka, self._jobs, self._robots_waits, self.clock, self.counters)
        )
        self._arrivals = self._results
        self._fetched_from = self._results

    def _pause_of(self, host: str) -> float:
        return self._results.pause_s(host)

    def _segment_age_s(self) -> float:
        return self._roll.age_s

    def _chores(self) -> list[Chore]:
        return [*super()._chores(), Chore("site_crawls", _CARE_S, self.crawls.tend)]

    def start(self) -> None:
        self._join()
        self._warm_up.wait()
        self._roll.recover()
        if self.search is not None:
            self.search.start()
        self.crawls.resume()
        self._results.start()
        self._threads += [
            self._thread("service-parses", self._parses.run),
            self._thread("service-finisher", self._patiently(self._finisher.run)),
            self._thread("service-caretaker", self._caretaker.run),
        ]

    def _stop(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._close_senders)
            stack.push(self._stack)
            stack.callback(self._note_stats)
            stack.callback(self._save_crawls)
            stack.callback(self._results.close)
            stack.callback(self._roll.abandon)  # where the finisher could not close it
            stack.callback(self._end_threads)
            stack.callback(self._parses.stop)
            stack.callback(self._results.end)
            stack.callback(self.store.give_up)
            stack.callback(self._caretaker.stop)
            self._stopping.set()
