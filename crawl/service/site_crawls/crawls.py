"""Sites that are crawled now: links are decided and queued as their pages come, without rounds.

A crawl's URLs are jobs like any other, of low priority and with the crawl's id; the engine keeps
to each server's pace. What a crawl has asked for and what has come stands in the ledger, so that
a service that starts again goes on with all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Condition

from crawl.clock import Clock
from crawl.errors import UsageError
from crawl.service.admission import Admission
from crawl.service.ids import JobIds
from crawl.service.intake import Intake, crawl_job_id
from crawl.service.page_rows import ParsedPage
from crawl.service.queues.queue import Queue
from crawl.service.site_crawls.ledger import Ledger
from crawl.service.site_crawls.scope import Scope
from crawl.service.site_crawls.values import (
    MAX_SEEDS,
    CrawlCounts,
    CrawlState,
    CrawlWish,
    SiteCrawl,
)
from crawl.service.values import Finished, Job, JobState, Wish

_log = logging.getLogger(__name__)


class _Running:
    """A crawl under way, with what is asked of it for every link."""

    def __init__(self, crawl: SiteCrawl, scope: Scope) -> None:
        self.crawl = crawl
        self.scope = scope
        self.asked: set[str] = set()
        """URLs that were taken on, and links that were looked at and left out."""
        self.ended: set[str] = set()
        """Ids of jobs that ended: one that is told of twice counts once."""


class SiteCrawls:
    """All site crawls of a service; for several threads."""

    def __init__(
        self,
        ledger: Ledger,
        intake: Intake,
        admission: Admission,
        queue: Queue,
        ids: JobIds,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._intake = intake
        self._admission = admission
        self._queue = queue
        self._ids = ids
        self._clock = clock
        self._running: dict[str, _Running] = {}
        self._changed = Condition()

    def resume(self) -> int:
        """Goes on with the crawls of a service before this one; how many there are."""
        for crawl in self._ledger.crawls():
            if crawl.state is CrawlState.RUNNING:
                self._resume(crawl)
        return len(self._running)

    def start(self, wish: CrawlWish) -> SiteCrawl:
        """Begins a crawl. Raises UsageError for what cannot be meant, and where no seed may be
        asked for, with the reason."""
        if not 1 <= len(wish.seeds) <= MAX_SEEDS:
            raise UsageError(f"seeds: from 1 to {MAX_SEEDS}, got {len(wish.seeds)}")
        if wish.limits.pages < 1 or wish.limits.depth < 0:
            raise UsageError("limits: at least one page, and a depth of 0 or more")
        checked = [self._admission.check(seed) for seed in wish.seeds]
        scope = Scope.of(wish.scope, [each.url for each in checked if not each.refusal])
        crawl = SiteCrawl(
            id=self._ids.new(),
            wish=wish,
            state=CrawlState.RUNNING,
            started_ms=self._clock.now_ms(),
            counts=CrawlCounts(),
        )
        running = _Running(crawl, scope)
        with self._changed:
            self._ledger.save(crawl)
            self._running[crawl.id] = running
        self._ask(running, [_wish(crawl, seed) for seed in wish.seeds])
        with self._changed:
            if not crawl.counts.asked:
                self._end(running, CrawlState.FINISHED)
                reasons = ", ".join(sorted(crawl.counts.left_out)) or "there is none"
                raise UsageError(f"seeds: none may be asked for: {reasons}")
        return crawl

    def crawl(self, crawl_id: str) -> SiteCrawl | None:
        """The crawl as it is now; None where there is none of that id."""
        with self._changed:
            running = self._running.get(crawl_id)
            return self._ledger.crawl(crawl_id) if running is None else running.crawl

    def all_crawls(self) -> list[SiteCrawl]:
        """All crawls, oldest first, as they are now."""
        with self._changed:
            running = {each.crawl.id: each.crawl for each in self._running.values()}
            return [running.get(crawl.id, crawl) for crawl in self._ledger.crawls()]

    def cancel(self, crawl_id: str, state: CrawlState = CrawlState.CANCELLED) -> bool:
        """Ends a crawl: what waits is not asked for, what is under way still comes. False where
        none of that id runs."""
        with self._changed:
            running = self._running.get(crawl_id)
            if running is None:
                return False
            jobs = [crawl_job_id(crawl_id, url) for url in self._ledger.asked(crawl_id)]
            self._end(running, state)
        self._queue.finish([job for job in jobs if job not in running.ended]).result()
        return True

    def end_those_out_of_time(self) -> None:
        """To be called now and then."""
        now_ms = self._clock.now_ms()
        with self._changed:
            late = [
                each.crawl.id
                for each in self._running.values()
                if each.crawl.wish.limits.seconds is not None
                and now_ms >= each.crawl.started_ms + each.crawl.wish.limits.seconds * 1000
            ]
        for crawl_id in late:
            self.cancel(crawl_id, CrawlState.TIME_LIMIT)

    def wait(self, crawl_id: str, after: int, timeout_s: float) -> list[tuple[int, Finished]]:
        """What came after a number, with the numbers; waits for more where there is none and the
        crawl runs. An empty list: nothing came in that time, or nothing will."""
        with self._changed:
            self._changed.wait_for(
                lambda: crawl_id not in self._running or len(self._running[crawl_id].ended) > after,
                timeout_s,
            )
        return self._ledger.ended(crawl_id, after)

    def take(self, pages: Sequence[tuple[Job, ParsedPage]]) -> None:
        """Queues the links of pages."""
        for job, page in pages:
            with self._changed:
                running = self._running.get(job.wish.crawl)
            if running is None or job.wish.depth >= running.crawl.wish.limits.depth:
                continue
            crawl, depth = running.crawl, job.wish.depth + 1
            fresh = [url for url in dict.fromkeys(page.links) if url not in running.asked]
            self._ask(running, [_wish(crawl, url, depth) for url in fresh])

    def store(self, finished: Sequence[Finished]) -> None:
        """Notes jobs that ended."""
        with self._changed:
            for crawl_id in dict.fromkeys(each.wish.crawl for each in finished if each.wish.crawl):
                running = self._running.get(crawl_id)
                if running is None:
                    continue
                fresh = [
                    each
                    for each in finished
                    if each.wish.crawl == crawl_id and each.job not in running.ended
                ]
                self._ledger.add_ended(crawl_id, len(running.ended) + 1, fresh)
                for each in fresh:
                    _count(running, each)

    def tell(self, finished: Sequence[Finished]) -> None:
        """Ends crawls of which nothing is left, and wakes those who wait."""
        with self._changed:
            for crawl_id in {each.wish.crawl for each in finished}:
                running = self._running.get(crawl_id)
                if running is not None and running.crawl.counts.outstanding <= 0:
                    self._end(running, CrawlState.FINISHED)
            self._changed.notify_all()

    def save(self) -> None:
        """Stores how far the crawls are; to be called at the end."""
        with self._changed:
            for running in self._running.values():
                self._ledger.save(running.crawl)

    def _ask(self, running: _Running, wishes: Sequence[Wish]) -> None:
        """Has URLs asked for that the crawl has room for and that are in its scope."""
        with self._changed:
            counts, limit = running.crawl.counts, running.crawl.wish.limits.pages
            running.asked.update(wish.url for wish in wishes)
            room = max(0, limit - counts.asked)
            _leave_out(counts, "page_limit", len(wishes) - room)
        submitted = self._intake.submit(wishes[:room], running.scope.contains)
        taken = [each for each in submitted if each.id]
        fresh = {each.url for each in taken}
        with self._changed:
            fresh -= running.asked - {each.wish.url for each in taken}
            self._ledger.add_asked(running.crawl.id, sorted(fresh))
            running.asked |= fresh
            counts.asked += len(fresh)
            for each in submitted:
                if each.reason:
                    _leave_out(counts, each.reason, 1)

    def _resume(self, crawl: SiteCrawl) -> None:
        checked = [self._admission.check(seed) for seed in crawl.wish.seeds]
        scope = Scope.of(crawl.wish.scope, [each.url for each in checked if not each.refusal])
        running = _Running(crawl, scope)
        running.asked.update(self._ledger.asked(crawl.id))
        crawl.counts = CrawlCounts(asked=len(running.asked), left_out=crawl.counts.left_out)
        after = 0
        while ended := self._ledger.ended(crawl.id, after):
            for _, each in ended:
                _count(running, each)
            after = ended[-1][0]
        self._running[crawl.id] = running
        # seeds that were not taken on yet, or all of them: those that were are passed over
        seeds = [seed for seed in crawl.wish.seeds if seed not in running.asked]
        self._ask(running, [_wish(crawl, seed) for seed in seeds])
        with self._changed:
            if crawl.counts.outstanding <= 0:
                self._end(running, CrawlState.FINISHED)

    def _end(self, running: _Running, state: CrawlState) -> None:
        crawl = running.crawl
        crawl.state, crawl.ended_ms = state, self._clock.now_ms()
        self._ledger.save(crawl)
        self._running.pop(crawl.id, None)
        self._changed.notify_all()


def _wish(crawl: SiteCrawl, url: str, depth: int = 0) -> Wish:
    """A URL of a crawl. An answer that is known has no links: pages are asked for anew."""
    wish = crawl.wish
    return Wish(
        url=url,
        priority=wish.priority,
        max_age_s=0.0,
        tags=wish.tags,
        owner=wish.owner,
        crawl=crawl.id,
        depth=depth,
    )


def _count(running: _Running, finished: Finished) -> None:
    running.ended.add(finished.job)
    page = finished.page
    if finished.state is JobState.FINISHED and page is not None and page.is_page:
        running.crawl.counts.pages += 1
    else:
        running.crawl.counts.failed += 1


def _leave_out(counts: CrawlCounts, reason: str, links: int) -> None:
    if links > 0:
        counts.left_out[reason] = counts.left_out.get(reason, 0) + links
