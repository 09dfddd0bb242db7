"""Finishes what was fetched, some answers at a time: parse, store, tell.

    records of the lane
      → what follows for each job (outcomes.py)
      → parsed in a process of its own, which may hang or die
      → noted in the segment            they survive us from here on
      → links of site crawls in the queue, texts in the search
      → pages in the metadata store     they can be looked up from here on
      → hops and later tries in the queue
      → answers and webhooks of the jobs that ended, stored
      → the jobs leave the queue
      → listeners are told

Each step is durable before the next begins, and each may be done again: a service that is killed
between two of them goes on where the queue says, and what is known already is not asked for again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import EnvironmentFault
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.contents import content_table
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.parsing.process.sandbox import Sandbox
from crawl.service.admission import Admission
from crawl.service.arrivals import Arrivals
from crawl.service.intake import entry_of
from crawl.service.lane import Lane
from crawl.service.live_search import LiveSearch
from crawl.service.outcomes import Limits, Next, Step, Target, after_answer, after_return, hop_of
from crawl.service.page_rows import ParsedPage, page_of_record, parsed_pages
from crawl.service.pages import Pages
from crawl.service.queues.queue import Entry, Queue
from crawl.service.segment_roll import SegmentRoll
from crawl.service.stage_times import StageTimes
from crawl.service.throughput import Throughput
from crawl.service.values import Finished, Job, JobState, Page, job_of
from crawl.urls.parse import host_of

MAX_BATCH = 64
"""Answers that are finished together: one of them must not wait for a second of parsing."""
_TICK_S = 0.5
_STARTS = 3
"""Of the parser's process, for the same pages."""

_log = logging.getLogger(__name__)


class Listeners(Protocol):
    """Who wants to know of jobs that ended."""

    def store(self, finished: Sequence[Finished]) -> None:
        """Keeps what must not be lost: answers to ask for, webhooks to send. Called again with
        the same where the service died meanwhile."""

    def tell(self, finished: Sequence[Finished]) -> None:
        """Tells those who listen now."""


class LinkTaker(Protocol):
    """Takes the links of pages for the site crawls that they belong to."""

    def take(self, pages: Sequence[tuple[Job, ParsedPage]]) -> None:
        """Has the links of pages queued. Durable when it returns; done again where the service
        died before the pages were stored."""


@dataclass(slots=True)
class _Round:
    """What follows from some answers."""

    queued: list[Entry] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    ended: list[tuple[Job, Finished]] = field(default_factory=list)


class Finisher:
    """Runs in a thread of its own, until it is stopped and nothing is left to be finished."""

    def __init__(
        self,
        *,
        queue: Queue,
        lane: Lane,
        arrivals: Arrivals,
        admission: Admission,
        pages: Pages,
        roll: SegmentRoll,
        sandbox: Sandbox,
        limits: Limits,
        listeners: Listeners,
        links: LinkTaker,
        clock: Clock,
        counters: Counters,
        throughput: Throughput,
        stages: StageTimes,
        search: LiveSearch | None,
        on_room: Callable[[], None],
        pause_of: Callable[[str], float],
    ) -> None:
        self._queue = queue
        self._lane = lane
        self._arrivals = arrivals
        self._admission = admission
        self._pages = pages
        self._roll = roll
        self._sandbox = sandbox
        self._limits = limits
        self._listeners = listeners
        self._links = links
        self._clock = clock
        self._counters = counters
        self._throughput = throughput
        self._stages = stages
        self._search = search
        self._on_room = on_room
        self._pause_of = pause_of
        self._known: deque[Page] = deque()
        """That the dispatcher found to answer jobs already, and adds meanwhile."""
        self._is_stopped = False

    def add_known(self, page: Page) -> None:
        """Has the jobs of a URL finished with what is known of it."""
        self._known.append(page)
        self._arrivals.wake()

    def stop(self) -> None:
        """Has it end when all that was fetched is finished."""
        self._is_stopped = True
        self._arrivals.wake()

    def run(self) -> None:
        """Finishes until it is stopped; then closes the open segment."""
        try:
            self._run()
            self._roll.publish()
        except BaseException:
            self._roll.abandon()  # whoever starts next publishes it
            raise

    def _run(self) -> None:
        while True:
            due_s = self._roll.due_in_s
            wait_s = _TICK_S if due_s is None else min(_TICK_S, due_s)
            records, returned, troubles = self._arrivals.take(MAX_BATCH, wait_s)
            self._roll.add_host_troubles(troubles)
            if records:
                self.finish(records)
            if returned:
                self.take_back(returned)
            if known := [self._known.popleft() for _ in range(len(self._known))]:
                self._settle_known(known)
            self._roll.publish_if_due()
            if self._search is not None:
                self._search.commit_if_due()
            if self._is_stopped and not (records or returned):
                return

    # answers

    def finish(self, records: list[FetchRecord]) -> None:
        """Takes answers through all steps."""
        begun = self._clock.monotonic()
        parsed, batch = self._parse(records)
        is_parsed = self._clock.monotonic()
        segment = self._roll.add(records, dict.fromkeys(parsed, batch) if batch else {})
        before = self._pages.get([record.url for record in records])
        pages = [
            page_of_record(record, parsed.get(record.url), known, segment, self._admission)
            for record, known in zip(records, before, strict=True)
        ]
        jobs = self._jobs_of(pages)
        if links := _links_of(jobs, parsed):
            self._links.take(links)
        if self._search is not None:
            self._search.remove(page.url for page in pages if page.status == Status.FETCH_GONE)
            if batch is not None:
                self._search.add(batch)
        self._pages.put(pages)
        is_stored = self._clock.monotonic()
        self._stages.observe(records, is_parsed - begun, is_stored - is_parsed)
        self._settle(pages, jobs)
        self._arrivals.finished(records)
        self._leave_lane([record.url for record in records])

    def _parse(
        self, records: Iterable[FetchRecord]
    ) -> tuple[dict[str, ParsedPage], ParsedBatch | None]:
        contents = [
            record.content
            for record in records
            if record.content is not None and record.datum.status is Status.FETCH_SUCCESS
        ]
        if not contents:
            return {}, None
        batch = self._parsed(content_table(contents))
        return parsed_pages(batch), batch

    def _parsed(self, contents: pa.Table) -> ParsedBatch:
        """The parser's process may be killed by others while it starts, which says nothing of the
        pages: one that cannot be started at all ends the service."""
        for _ in range(_STARTS - 1):
            try:
                return self._sandbox.parse_table(contents)
            except EnvironmentFault as fault:
                self._counters["parser_restarts"] += 1
                _log.warning("%s; another is started", fault)
        return self._sandbox.parse_table(contents)

    def _jobs_of(self, pages: Sequence[Page]) -> dict[str, list[Job]]:
        """The jobs that wait for these pages, by URL."""
        entries = self._queue.find([page.url for page in pages])
        return {url: [job_of(entry.payload) for entry in each] for url, each in entries.items()}

    def _settle(self, pages: Sequence[Page], jobs: Mapping[str, Sequence[Job]]) -> None:
        """What follows for the jobs that wait for these pages."""
        followed = _Round()
        for page in pages:
            target = Target(page.redirect, page.reason if not page.redirect else "")
            pause_s = self._pause_of(host_of(page.url) or "")
            for job in jobs.get(page.url, ()):
                step = after_answer(job, Status(page.status), target, pause_s, self._limits)
                self._apply(followed, job, step, page, pause_s)
        self._store(followed)

    def _settle_known(self, pages: Sequence[Page]) -> None:
        self._counters["finished.known"] += len(pages)
        self._settle(pages, self._jobs_of(pages))
        self._on_room()

    def take_back(self, returned: Sequence[tuple[FetchItem, str]]) -> None:
        """Takes URLs that the lane gives back without an answer."""
        entries = self._queue.find([item.url for item, _ in returned])
        followed = _Round()
        for item, reason in returned:
            self._counters[f"returned.{reason}"] += 1
            pause_s = self._pause_of(item.host)
            for entry in entries.get(item.url, ()):
                job = job_of(entry.payload)
                step = after_return(job, reason, pause_s, self._limits)
                self._apply(followed, job, step, None, pause_s)
        self._store(followed)
        self._leave_lane([item.url for item, _ in returned])

    def _leave_lane(self, urls: Iterable[str]) -> None:
        """Lets URLs be fed again. Jobs that came for them too late to be settled are claimed
        anew; of those that were, nothing is left to be released."""
        late = [job_id for url in urls for job_id in self._lane.ended(url)]
        for released in [self._queue.release(job_id, 0) for job_id in late]:
            released.result()
        self._on_room()

    # what follows

    def _apply(
        self, followed: _Round, job: Job, step: Step, page: Page | None, pause_s: float
    ) -> None:
        now_ms = self._clock.now_ms()
        if step.next is Next.FOLLOW and page is not None:
            hop = hop_of(page.url, Status(page.status), page.code, page.fetched_ms)
            next_job = _changed(job, url=step.url, hops=(*job.hops, hop), tries=0)
            followed.queued.append(entry_of(next_job, host_of(step.url) or ""))
        elif step.next is Next.AGAIN:
            again = _changed(job, tries=job.tries + 1)
            not_before_ms = now_ms + round(pause_s * 1000)
            host = host_of(job.url) or ""
            followed.queued.append(entry_of(again, host, not_before_ms=not_before_ms))
            self._counters["tried_again"] += 1
        elif step.next is Next.LEAVE:
            followed.released.append(job.id)
        else:
            is_refused = step.next is Next.REFUSE
            finished = Finished(
                job=job.id,
                wish=job.wish,
                state=JobState.REFUSED if is_refused else JobState.FINISHED,
                submitted_ms=job.submitted_ms,
                finished_ms=now_ms,
                url=job.url,
                hops=job.hops,
                reason=step.reason or ("" if page is None else page.reason),
                page=page,
            )
            followed.ended.append((job, finished))

    def _store(self, followed: _Round) -> None:
        """Makes durable what follows, in the order that loses nothing."""
        if followed.queued:
            self._queue.replace(followed.queued).result()
        ended = [each for _, each in followed.ended]
        # thousands may have waited for one URL, and each answer has the page in it
        for begun in range(0, len(ended), MAX_BATCH):
            finished = ended[begun : begun + MAX_BATCH]
            self._listeners.store(finished)
            self._queue.finish([each.job for each in finished]).result()
            self._throughput.add(len(finished))
            self._stages.observe_ends(finished)
            for each in finished:
                self._counters[f"ended.{each.state}"] += 1
            self._listeners.tell(finished)
        for released in [self._queue.release(job_id, 0) for job_id in followed.released]:
            released.result()


def _links_of(
    jobs: Mapping[str, Sequence[Job]], parsed: Mapping[str, ParsedPage]
) -> list[tuple[Job, ParsedPage]]:
    """The pages of site crawls."""
    return [
        (job, parsed[url])
        for url, each in jobs.items()
        if url in parsed
        for job in each
        if job.wish.crawl
    ]


def _changed(job: Job, **changes: object) -> Job:
    values = {name: getattr(job, name) for name in job.__struct_fields__}
    return Job(**{**values, **changes})
