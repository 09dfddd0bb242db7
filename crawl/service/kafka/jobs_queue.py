"""The queue of the service where Kafka is between its roles: what is put goes to the topic of jobs,
to the partition of its domain; what waits there is its owner's to claim.

`find` knows the jobs whose results are being stored here, and no others: that another fetch of a
URL is on its way is seen by the owner of its domain, who joins them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Lock

from crawl.errors import StorageError
from crawl.service.intake.intake import entry_of
from crawl.service.kafka.backlog import Backlog
from crawl.service.kafka.client import Outgoing, Sender
from crawl.service.kafka.messages import job_message
from crawl.service.kafka.partitions import Partitions
from crawl.service.pages import Pages
from crawl.service.queues.queue import Entry, QueueCount
from crawl.service.settings import QueueBounds
from crawl.service.values import Job, Page, Priority, job_of
from crawl.urls.parse import host_of

_MAX_TAKEN = 50_000


class KafkaJobs:
    """For several threads."""

    def __init__(
        self,
        *,
        hasty: Sender,
        patient: Sender,
        topic: str,
        backlog: Backlog,
        bounds: QueueBounds,
    ) -> None:
        self._hasty = hasty
        """For what somebody waits to have acknowledged, and can send again."""
        self._patient = patient
        """For what follows from results: it is tried until it is there."""
        self._topic = topic
        self._pages: Pages | None = None
        self._backlog = backlog
        self._bounds = bounds
        self._partitions: Partitions | None = None
        self._lock = Lock()
        self._known: dict[str, dict[str, Job]] = {}
        """Jobs whose results are being stored, by URL and id."""
        self._taken: OrderedDict[str, Entry] = OrderedDict()
        """The jobs that were taken on last, for whoever asks where they are."""

    def open(self, partitions: int, pages: Pages) -> None:
        """So many partitions there are; and what is known of pages."""
        self._pages = pages
        self._partitions = Partitions(partitions)

    def keep(self, jobs: Sequence[Job]) -> None:
        """Jobs whose result is being stored."""
        with self._lock:
            for job in jobs:
                self._known.setdefault(job.url, {})[job.id] = job

    def put(self, entries: Sequence[Entry]) -> Future[int]:
        jobs = [job_of(entry.payload) for entry in entries]
        # of links nobody waits to hear that they were taken on: they must only not be lost
        are_links = all(job.wish.depth > 0 for job in jobs)
        sender = self._patient if are_links else self._hasty
        sent = sender.send_all(self._messages(entries, jobs, self._known_pages(jobs)))
        self._backlog.add(len(entries))
        with self._lock:
            for entry in entries:
                self._taken[entry.id] = entry
            while len(self._taken) > _MAX_TAKEN:
                self._taken.popitem(last=False)
        return sent

    def replace(self, entries: Sequence[Entry]) -> Future[int]:
        jobs = [job_of(entry.payload) for entry in entries]
        sent = self._patient.send_all(self._messages(entries, jobs, [None] * len(jobs)))
        sent.add_done_callback(lambda done: self._forget([job.id for job in jobs], done))
        return sent

    def find(self, urls: Sequence[str]) -> dict[str, list[Entry]]:
        with self._lock:
            return {
                url: [entry_of(job, "") for job in self._known[url].values()]
                for url in dict.fromkeys(urls)
                if url in self._known
            }

    def finish(self, ids: Sequence[str]) -> Future[int]:
        done: Future[int] = Future()
        self._forget(ids, None)
        done.set_result(len(ids))
        return done

    def release(self, id: str, not_before_ms: int) -> Future[bool]:
        """Nothing is claimed here: a job that its result does not end goes to its owner again."""
        with self._lock:
            found = [jobs[id] for jobs in self._known.values() if id in jobs]
        done: Future[bool] = Future()
        done.set_running_or_notify_cancel()

        def sent(replaced: Future[int]) -> None:
            fault = replaced.exception()
            if fault is None:
                done.set_result(bool(found))
            else:
                done.set_exception(fault)

        entries = [
            entry_of(job, host_of(job.url) or "", not_before_ms=not_before_ms) for job in found
        ]
        self.replace(entries).add_done_callback(sent)
        return done

    def claim(
        self,
        limit: int,
        now_ms: int,
        *,
        per_key: int | Mapping[str, int],
        per_other_key: int = 1,
    ) -> list[Entry]:
        return []

    def next_due_ms(self, now_ms: int) -> int | None:
        return None

    def unfinished_of(self, key: str) -> int:
        """Not known here: hosts take turns where they are asked, and all wait within one bound."""
        return 0

    def count(self) -> QueueCount:
        """What waits at the brokers has no priority before its owner reads it: all of it is weighed
        against the bound of the normal one, and against that of the low one."""
        waiting = self._backlog.waiting
        spared = self._bounds.of_priority(Priority.NORMAL) - self._bounds.of_priority(Priority.HIGH)
        return QueueCount(
            {
                Priority.HIGH: max(0, waiting - max(0, spared)),
                Priority.NORMAL: waiting,
                Priority.LOW: waiting,
            },
            0,
        )

    def entry(self, id: str) -> Entry | None:
        """A job that was taken on by this process, or whose result it stores: the brokers cannot be
        asked for one. That it ended is seen by its answer, which is looked for first."""
        with self._lock:
            found = self._taken.get(id)
            if found is None:
                known = (jobs[id] for jobs in self._known.values() if id in jobs)
                job = next(known, None)
                return None if job is None else entry_of(job, host_of(job.url) or "")
        return found

    def contains(self, id: str) -> bool:
        return self.entry(id) is not None

    def close(self) -> None:
        """The senders are closed by whoever made them."""

    def _messages(
        self, entries: Sequence[Entry], jobs: Sequence[Job], pages: Sequence[Page | None]
    ) -> list[Outgoing]:
        if self._partitions is None:
            raise StorageError("the service has not reached its brokers yet")
        return [
            Outgoing(
                self._topic,
                _message(job, entry.not_before_ms, page),
                entry.key.encode(),
                self._partitions.of_host(entry.key),
            )
            for entry, job, page in zip(entries, jobs, pages, strict=True)
        ]

    def _known_pages(self, jobs: Sequence[Job]) -> list[Page | None]:
        """By which a server can say that a page did not change."""
        return self._pages.get([job.url for job in jobs]) if self._pages else [None] * len(jobs)

    def _forget(self, ids: Sequence[str], done: Future[int] | None) -> None:
        if done is not None and done.exception() is not None:
            return
        gone = set(ids)
        with self._lock:
            for url in [url for url, jobs in self._known.items() if not gone.isdisjoint(jobs)]:
                left = {id: job for id, job in self._known[url].items() if id not in gone}
                if left:
                    self._known[url] = left
                else:
                    del self._known[url]


def _message(job: Job, not_before_ms: int, page: Page | None) -> bytes:
    """A page of a site that is crawled is wanted as it is, with its links."""
    if page is None or not page.is_page or not page.segment or job.wish.crawl:
        return job_message(job, not_before_ms, is_known=page is not None)
    return job_message(
        job,
        not_before_ms,
        page.etag,
        page.last_modified,
        page.changed_ms,
        is_known=True,
    )
