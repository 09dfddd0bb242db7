"""Takes wishes on: each is decided, and acknowledged when it is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.service.intake.admission import Admission
from crawl.service.intake.decide import Action, Checked, Decision, Load, Policy, decide
from crawl.service.intake.ids import JobIds
from crawl.service.intake.throughput import Throughput
from crawl.service.pages import Pages, Resolved
from crawl.service.queues.queue import Entry, Queue
from crawl.service.values import Job, JobState, Wish, packed


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a wish."""

    wish: Wish
    url: str
    """In normal form, where it has one."""
    state: JobState
    id: str = ""
    """Of the job; empty where there is none to wait for."""
    reason: str = ""
    answer: Resolved | None = None
    retry_after_s: float = 0.0
    """After which it may be taken on, where it was refused because too much waits."""


_STATES = {
    Action.FETCH: JobState.QUEUED,
    Action.JOIN: JobState.JOINED,
    Action.ANSWER: JobState.ANSWERED,
    Action.REFUSE: JobState.REFUSED,
    Action.OVERLOAD: JobState.REFUSED,
}


class Intake:
    """The way in, for several threads."""

    def __init__(
        self,
        admission: Admission,
        pages: Pages,
        queue: Queue,
        policy: Policy,
        ids: JobIds,
        clock: Clock,
        throughput: Throughput,
        counters: Counters,
        on_queued: Callable[[], None],
        require_storing: Callable[[], None] = lambda: None,
    ) -> None:
        """`require_storing` raises StorageError where what is put into the queue would not be kept,
        or could not be finished now."""
        self._admission = admission
        self._pages = pages
        self._queue = queue
        self._policy = policy
        self._ids = ids
        self._clock = clock
        self._throughput = throughput
        self._counters = counters
        self._on_queued = on_queued
        self._require_storing = require_storing
        self._lock = Lock()
        """Of two wishes for a URL that come at once, one is the second."""

    def submit(
        self, wishes: Sequence[Wish], checked: Sequence[Checked] | None = None
    ) -> list[Submitted]:
        """Decides on wishes, in their order; those that are to be fetched are stored when it
        returns, and would survive the death of the machine. `checked` is what was found out of
        their URLs, where that is known already."""
        if checked is None:
            checked = [self._admission.check(wish.url) for wish in wishes]
        urls = list(dict.fromkeys(each.url for each in checked if not each.refusal))
        known = dict(zip(urls, self._pages.resolve(urls), strict=True))
        with self._lock:
            submitted, entries = self._decide(wishes, checked, known, urls)
            if entries:
                self._require_storing()
            stored = self._queue.put(entries) if entries else None
        if stored is not None:
            stored.result()
            self._require_storing()  # it may have been written into a folder that is gone
            self._on_queued()
        for each in submitted:
            self._counters[f"submitted.{each.state}"] += 1
            if each.reason:
                self._counters[f"refused.{each.reason}"] += 1
        return submitted

    def _decide(
        self,
        wishes: Sequence[Wish],
        checked: Iterable[Checked],
        known: dict[str, Resolved | None],
        urls: Sequence[str],
    ) -> tuple[list[Submitted], list[Entry]]:
        awaited = set(self._queue.find(urls))
        waiting = self._queue.count().waiting
        new_by_priority, new_by_host = Counters(), Counters()
        submitted: list[Submitted] = []
        entries: list[Entry] = []
        for wish, each in zip(wishes, checked, strict=True):
            answer = known.get(each.url)
            load = Load(
                waiting.get(wish.priority, 0) + new_by_priority[wish.priority.label],
                self._queue.unfinished_of(each.host) + new_by_host[each.host],
                self._throughput.per_second,
            )
            decision = decide(
                wish,
                each,
                None if answer is None else answer.page,
                is_in_flight=each.url in awaited,
                load=load,
                policy=self._policy,
                now_ms=self._clock.now_ms(),
            )
            job = self._job(wish, each.url) if decision.action in _WAITING else None
            if job is not None:
                entries.append(entry_of(job, each.host))
                awaited.add(each.url)
                new_by_priority[wish.priority.label] += 1
                new_by_host[each.host] += 1
            submitted.append(_submitted(wish, each, decision, job, answer))
        return submitted, entries

    def _job(self, wish: Wish, url: str) -> Job:
        job_id = crawl_job_id(wish.crawl, url) if wish.crawl else self._ids.new()
        return Job(id=job_id, wish=wish, url=url, submitted_ms=self._clock.now_ms())


def crawl_job_id(crawl: str, url: str) -> str:
    """A site crawl asks for a URL once, however often a link to it is taken in."""
    return f"{crawl}-{hashlib.blake2b(url.encode(), digest_size=10).hexdigest()}"


_WAITING = (Action.FETCH, Action.JOIN)


def entry_of(job: Job, host: str, *, not_before_ms: int = 0) -> Entry:
    """A job as the queue keeps it: its host decides whose turn it is."""
    return Entry(job.id, job.url, host, int(job.wish.priority), not_before_ms, packed(job))


def _submitted(
    wish: Wish, checked: Checked, decision: Decision, job: Job | None, answer: Resolved | None
) -> Submitted:
    return Submitted(
        wish,
        checked.url,
        _STATES[decision.action],
        "" if job is None else job.id,
        decision.reason,
        answer if decision.action is Action.ANSWER else None,
        decision.retry_after_s,
    )
