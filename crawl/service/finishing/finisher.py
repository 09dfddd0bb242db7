"""Finishes what was fetched, some answers at a time: store, tell.

    records of the lane
      → parsed in a process of its own, which may hang or die (parse_stage.py)
      → noted in the segment            they survive us from here on
      → links of site crawls in the queue, texts in the search
      → pages in the metadata store     they can be looked up from here on
      → what follows for each job (outcomes.py)
      → hops and later tries in the queue
      → answers and webhooks of the jobs that ended, stored
      → listeners are told, while the jobs leave the queue

Each step is durable before the next begins, and each may be done again: a service that is killed
between two of them goes on where the queue says, and what is known already is not asked for again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from msgspec import structs

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.fetcher.values.item import FetchItem
from crawl.model.status import Status
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.finishing.outcomes import (
    Limits,
    Next,
    Step,
    Target,
    after_answer,
    after_return,
    hop_of,
)
from crawl.service.finishing.page_rows import NOTHING_MORE, ParsedPage, page_of_record
from crawl.service.finishing.parse_stage import MAX_BATCH, ParsedRecords, ParseStage
from crawl.service.finishing.related_images import RelatedImages
from crawl.service.finishing.stage_times import StageTimes
from crawl.service.intake.admission import Admission
from crawl.service.intake.intake import entry_of
from crawl.service.intake.throughput import Throughput
from crawl.service.live_search import LiveSearch
from crawl.service.pages import Pages
from crawl.service.queues.queue import Entry, Queue
from crawl.service.refusals import refusal_of
from crawl.service.segments.roll import SegmentRoll
from crawl.service.values import Finished, Job, JobState, Page, job_of
from crawl.urls.parse import host_of

_TICK_S = 0.5
_MAX_LEAVING = 8

_log = logging.getLogger(__name__)


class Listeners(Protocol):
    """Who wants to know of jobs that ended."""

    def store(self, finished: Sequence[Finished]) -> None:
        """Keeps what must not be lost: answers to ask for, webhooks to send. Called again with
        the same where the service died meanwhile."""

    def tell(self, finished: Sequence[Finished]) -> None:
        """Tells those who listen now."""


class FetchedFrom(Protocol):
    """Where answers come from."""

    def ended(self, url: str) -> Sequence[str]:
        """Told when what came of a URL is stored; the jobs that came for it too late."""


class LinkTaker(Protocol):
    """Takes the links of pages for the site crawls that they belong to."""

    def take(self, pages: Sequence[tuple[Job, ParsedPage]]) -> None:
        """Has the links of pages queued. Durable when it returns; done again where the service
        died before the pages were stored."""

    def may_follow(self, job: Job, url: str) -> bool:
        """Whether a redirect of a site crawl's job leads to what belongs to the site."""


@dataclass(slots=True)
class _Round:
    """What follows from some answers."""

    queued: list[Entry] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    ended: list[tuple[Job, Finished]] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    """With what became of their images."""


class Finisher:
    """Runs in a thread of its own, until the stage before it has ended and nothing is left."""

    def __init__(
        self,
        *,
        queue: Queue,
        lane: FetchedFrom,
        arrivals: Arrivals,
        admission: Admission,
        pages: Pages,
        roll: SegmentRoll,
        parses: ParseStage,
        images: RelatedImages,
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
        self._parses = parses
        self._images = images
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
        self._known: list[Page] = []
        """That the dispatcher found to answer jobs already."""
        self._known_lock = Lock()
        self._leaving: deque[Future[int]] = deque()
        """Done when the jobs that ended last have left the queue."""

    def add_known(self, page: Page) -> None:
        """Has the jobs of a URL finished with what is known of it."""
        with self._known_lock:
            self._known.append(page)
        self._parses.wake()

    def run(self) -> None:
        """Finishes until no more is parsed; then closes the open segment."""
        try:
            while self._step():
                pass
            while self._leaving:
                self._leaving.popleft().result()
            self._roll.close()
        except BaseException:
            self._roll.abandon()  # whoever starts next publishes it
            raise
        finally:
            self._parses.abandon()

    def _step(self) -> bool:
        is_last = self._parses.has_ended
        due_s = self._roll.due_in_s
        ready = self._parses.take(_TICK_S if due_s is None else min(_TICK_S, due_s))
        self._roll.add_host_troubles(ready.troubles)
        if ready.records:
            self.finish(ready)
        if ready.returned:
            self.take_back(ready.returned)
        with self._known_lock:
            known, self._known = self._known, []
        if known:
            self._settle_known(known)
        self._roll.publish_if_due()
        return not (is_last and ready.is_empty and not known)

    # answers

    def finish(self, ready: ParsedRecords) -> None:
        """Takes answers through all steps."""
        begun = self._clock.monotonic()
        records, parsed, batch = ready.records, ready.parsed, ready.batch
        if batch is not None:
            self._counters["parser_restarts"] += batch.counters["parser_restarts"]
        segments = self._roll.add(records, dict.fromkeys(parsed, batch) if batch else {})
        urls = [record.url for record in records]
        before, jobs = self._pages.get(urls), self._jobs_of(urls)
        pages = [
            page_of_record(
                *(record, parsed.get(record.url), known, segments[record.url], self._admission),
                ready.wanted.get(record.url, NOTHING_MORE),
                self._stages.of_page(record, jobs.get(record.url, ()), ready.parse_s),
            )
            for record, known in zip(records, before, strict=True)
        ]
        if links := _links_of(jobs, parsed):
            self._links.take(links)
        if self._search is not None:
            gone = [page.url for page in pages if page.status == Status.FETCH_GONE]
            # pages that were parsed together are in one segment
            segment = next((segments[url] for url in parsed if url in segments), "")
            self._search.take(batch, segment, gone)
        self._pages.put(pages)
        store_s = self._clock.monotonic() - begun
        self._stages.observe(records, jobs, ready.parse_s, store_s)
        self._settle(pages, jobs, ready.without_markdown)
        self._arrivals.finished(records)
        self._leave_lane(urls)

    def _jobs_of(self, urls: Sequence[str]) -> dict[str, list[Job]]:
        """The jobs that wait for URLs."""
        entries = self._queue.find(urls)
        return {url: [job_of(entry.payload) for entry in each] for url, each in entries.items()}

    def _settle(
        self,
        pages: Sequence[Page],
        jobs: Mapping[str, Sequence[Job]],
        without_markdown: Container[str] = (),
    ) -> None:
        """What follows for the jobs that wait for these pages. One that came while its page was
        parsed, and wants the Markdown that was not made, waits for another answer."""
        followed = _Round()
        for page in pages:
            may_come_again = Status(page.status) is Status.FETCH_RETRY
            pause_s = self._pause_of(host_of(page.url) or "") if may_come_again else 0.0
            for job in jobs.get(page.url, ()):
                if page.url in without_markdown and job.wish.wants_markdown:
                    followed.released.append(job.id)
                    continue
                target = self._target(page, job)
                step = after_answer(job, Status(page.status), target, pause_s, self._limits)
                self._apply(followed, job, step, page, pause_s)
        self._store(followed)

    def _target(self, page: Page, job: Job) -> Target:
        if not page.redirect:
            return Target(refusal=page.reason)
        is_of_crawl = bool(job.wish.crawl) and not job.image_of
        if is_of_crawl and not self._links.may_follow(job, page.redirect):
            return Target(refusal="out_of_scope")
        return Target(page.redirect)

    def _settle_known(self, pages: Sequence[Page]) -> None:
        self._counters["finished.known"] += len(pages)
        self._settle(pages, self._jobs_of([page.url for page in pages]))
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
            followed.queued.append(entry_of(_hopped(job, page, step.url), host_of(step.url) or ""))
        elif step.next is Next.AGAIN:
            again = structs.replace(job, tries=job.tries + 1)
            not_before_ms = now_ms + round(pause_s * 1000)
            host = host_of(job.url) or ""
            followed.queued.append(entry_of(again, host, not_before_ms=not_before_ms))
            self._counters["tried_again"] += 1
        elif step.next is Next.LEAVE:
            followed.released.append(job.id)
        elif job.image_of:
            whole = self._images.end(job, page, step.reason)
            if whole is not None:
                followed.pages.append(whole)
            self._end(followed, structs.replace(job, url=job.image_of), Step(Next.FINISH), whole)
        elif page is not None and self._images.is_wanted(job, page):
            self._go_on_with_image(followed, job, step, page)
        else:
            self._end(followed, job, step, page)

    def _go_on_with_image(self, followed: _Round, job: Job, step: Step, page: Page) -> None:
        found = self._images.next_of(page)
        if isinstance(found, Page):
            if found is not page:
                followed.pages.append(found)
            self._end(followed, job, step, found)
            return
        asking = structs.replace(job, url=found.url, image_of=page.url, tries=0)
        followed.queued.append(entry_of(asking, found.host))

    def _end(self, followed: _Round, job: Job, step: Step, page: Page | None) -> None:
        is_refused = step.next is Next.REFUSE
        finished = Finished(
            job=job.id,
            wish=job.wish,
            state=JobState.REFUSED if is_refused else JobState.FINISHED,
            submitted_ms=job.submitted_ms,
            finished_ms=self._clock.now_ms(),
            url=job.url,
            hops=job.hops,
            reason=step.reason or ("" if page is None else page.reason),
            page=page,
        )
        followed.ended.append((job, finished))

    def _store(self, followed: _Round) -> None:
        """Makes durable what follows, in the order that loses nothing."""
        if followed.pages:
            self._pages.put(followed.pages)
        # the answers of other jobs need not wait for it
        replaced = self._queue.replace(followed.queued) if followed.queued else None
        ended = [each for _, each in followed.ended]
        # thousands may have waited for one URL, and each answer has the page in it
        for begun in range(0, len(ended), MAX_BATCH):
            finished = ended[begun : begun + MAX_BATCH]
            self._listeners.store(finished)
            self._leave_queue([each.job for each in finished])
            self._throughput.add(len(finished))
            self._stages.observe_ends(finished)
            for each in finished:
                self._counters[f"ended.{each.state}"] += 1
                if refusal := refusal_of(each):
                    self._counters[f"refused.{refusal}"] += 1
            self._listeners.tell(finished)
        if replaced is not None:
            replaced.result()
        for released in [self._queue.release(job_id, 0) for job_id in followed.released]:
            released.result()

    def _leave_queue(self, ended: Sequence[str]) -> None:
        """Has jobs leave the queue. Nobody waits for it: one that comes again finds its page, and
        ends once more."""
        while self._leaving and (self._leaving[0].done() or len(self._leaving) >= _MAX_LEAVING):
            self._leaving.popleft().result()
        self._leaving.append(self._queue.finish(ended))


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


def _hopped(job: Job, page: Page, url: str) -> Job:
    """The job behind a redirect."""
    if job.image_of:
        return structs.replace(job, url=url, image_hops=job.image_hops + 1, tries=0)
    hop = hop_of(page.url, Status(page.status), page.code, page.fetched_ms)
    return structs.replace(job, url=url, hops=(*job.hops, hop), tries=0)
