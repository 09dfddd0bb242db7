"""Sites that are crawled now: links are decided and queued as their pages come, without rounds.

A crawl's URLs are jobs like any other, of low priority and with the crawl's id; the engine keeps
to each server's pace. A URL is noted in the ledger before it is queued, and what came of it before
it leaves the queue, so that a service that starts again goes on with all of them: what is noted
and has not come is queued once more, which changes nothing where it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Condition
from typing import Any

import msgspec

from crawl.clock import Clock
from crawl.errors import CrawlError, UsageError
from crawl.service.finishing.page_rows import ParsedPage
from crawl.service.intake.admission import Admission
from crawl.service.intake.decide import Checked
from crawl.service.intake.ids import JobIds
from crawl.service.intake.intake import Intake
from crawl.service.queues.queue import Queue
from crawl.service.site_crawls.crawl_scope import CrawlScope
from crawl.service.site_crawls.ledger import Ledger
from crawl.service.site_crawls.running import RunningCrawl
from crawl.service.site_crawls.values import (
    MAX_SEEDS,
    Asked,
    CrawlCounts,
    CrawlState,
    CrawlWish,
    SiteCrawl,
)
from crawl.service.values import Finished, Job
from crawl.urls.parse import host_of

MAX_RUNNING = 1000
"""Crawls at a time."""
_QUEUED_AT_ONCE = 1000
"""URLs in one wait for the queue."""


class TooManyCrawls(CrawlError):
    """No further crawl is begun for now."""

    may_pass = True


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
        keep_s: float = float("inf"),
    ) -> None:
        """What is noted of a crawl is forgotten so long after its end."""
        self._ledger = ledger
        self._intake = intake
        self._admission = admission
        self._queue = queue
        self._ids = ids
        self._clock = clock
        self._keep_s = keep_s
        self._forgets_at = clock.monotonic()
        self._running: dict[str, RunningCrawl] = {}
        self._changed = Condition()

    def resume(self) -> int:
        """Takes up the crawls of a service before this one; how many there are. To be called before
        any page comes; what has to be queued is, as soon as `tend` is called."""
        for crawl in self._ledger.crawls():
            if crawl.state is CrawlState.RUNNING:
                self._resume(crawl)
        return len(self._running)

    def start(self, wish: CrawlWish) -> SiteCrawl:
        """Begins a crawl. Raises UsageError for what cannot be meant, and where no seed may be
        asked for, with the reason."""
        if not 1 <= len(wish.seeds) <= MAX_SEEDS:
            raise UsageError(f"seeds: from 1 to {MAX_SEEDS}, got {len(wish.seeds)}")
        limits = wish.limits
        if limits.pages < 1 or limits.depth < 0 or (limits.per_host or 1) < 1:
            raise UsageError("limits: at least one page, and a depth of 0 or more")
        crawl = SiteCrawl(
            id=self._ids.new(),
            wish=wish,
            state=CrawlState.RUNNING,
            started_ms=self._clock.now_ms(),
            counts=CrawlCounts(),
        )
        running = RunningCrawl(crawl, self._scope(wish))
        with self._changed:
            if len(self._running) >= MAX_RUNNING:
                raise TooManyCrawls(f"{MAX_RUNNING:,} crawls run already: come back later")
            self._ledger.save(crawl)
            self._running[crawl.id] = running
        self._ask(running, [Asked(seed) for seed in wish.seeds])
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
            return self._ledger.crawl(crawl_id) if running is None else _copy(running.crawl)

    def all_crawls(self) -> list[SiteCrawl]:
        """All crawls, oldest first, as they are now."""
        with self._changed:
            running = {each.crawl.id: each.crawl for each in self._running.values()}
            return [_copy(running.get(crawl.id, crawl)) for crawl in self._ledger.crawls()]

    def cancel(self, crawl_id: str, state: CrawlState = CrawlState.CANCELLED) -> bool:
        """Ends a crawl: what waits is not asked for; what is under way is stored when it comes, but
        not told of. False where none of that id runs."""
        with self._changed:
            running = self._running.get(crawl_id)
            if running is None:
                return False
            running.is_ending = True
            running.held.clear()
            jobs = [
                running.job_of(each) for each in running.unfinished(self._ledger.asked(crawl_id))
            ]
        # before it is said to have ended: a service that dies in between goes on with it
        self._queue.finish(jobs).result()
        with self._changed:
            if self._running.get(crawl_id) is running:
                self._end(running, state)
        return True

    def tend(self) -> None:
        """Ends crawls whose time is up, queues what waits for room, and forgets what ended long
        ago. To be called now and then."""
        now_ms = self._clock.now_ms()
        with self._changed:
            running = list(self._running.values())
        for each in running:
            seconds = each.crawl.wish.limits.seconds
            if seconds is not None and now_ms >= each.crawl.started_ms + seconds * 1000:
                self.cancel(each.crawl.id, CrawlState.TIME_LIMIT)
            elif each.held:
                self._queue_held(each)
        if self._clock.monotonic() >= self._forgets_at:
            self._forgets_at = self._clock.monotonic() + min(3600.0, self._keep_s)
            for crawl in list(self._ledger.crawls()):
                if crawl.ended_ms and now_ms >= crawl.ended_ms + self._keep_s * 1000:
                    self._ledger.delete(crawl.id)

    def wait(self, crawl_id: str, after: int, timeout_s: float) -> list[tuple[int, Finished]]:
        """What came after a number, with the numbers; waits for more where there is none and the
        crawl runs. An empty list: nothing came in that time, or nothing will."""
        with self._changed:
            self._changed.wait_for(
                lambda: crawl_id not in self._running or self._running[crawl_id].ended > after,
                timeout_s,
            )
        return self._ledger.ended(crawl_id, after)

    def take(self, pages: Sequence[tuple[Job, ParsedPage]]) -> None:
        """Queues the links of pages."""
        found: dict[str, list[Asked]] = {}
        for job, page in pages:
            with self._changed:
                running = self._running.get(job.wish.crawl)
                if running is None:
                    continue
                fresh = [url for url in dict.fromkeys(page.links) if running.is_new(url)]
                if job.wish.depth >= running.crawl.wish.limits.depth:
                    running.leave_out("depth_limit", len(fresh))
                    continue
            depth = job.wish.depth + 1
            found.setdefault(job.wish.crawl, []).extend(Asked(url, depth) for url in fresh)
        for crawl_id, links in found.items():
            running = self._running.get(crawl_id)
            if running is not None:
                self._ask(running, links)

    def leave_out(self, crawl_id: str, reasons: Iterable[tuple[str, int]]) -> None:
        """Counts links of a crawl's pages that the rules of parsing drop."""
        with self._changed:
            running = self._running.get(crawl_id)
            if running is not None:
                for reason, links in reasons:
                    running.leave_out(f"parse.{reason}", links)

    def may_follow(self, job: Job, url: str) -> bool:
        """Whether a redirect of a crawl's job leads to what belongs to the site. A seed's does
        where nothing was said of hosts: the site is where it leads."""
        with self._changed:
            running = self._running.get(job.wish.crawl)
            if running is None or running.scope.contains(url):
                return True
            host = host_of(url)
            if job.wish.depth or not running.scope.is_of_seeds or host is None:
                return False
            scope = running.scope.with_hosts([host])
            if not scope.contains(url):
                return False
            running.scope = scope
            running.crawl.further_hosts = (*running.crawl.further_hosts, host)
            self._ledger.save(running.crawl)
            return True

    def has_come(self, job: Job) -> bool:
        """Whether a job's URL was fetched in its crawl: it is not asked for twice."""
        with self._changed:
            running = self._running.get(job.wish.crawl)
            return running is not None and running.has_come(job.url)

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
                    if each.wish.crawl == crawl_id and not running.has_ended(each.job)
                ]
                self._ledger.add_ended(crawl_id, running.ended + 1, fresh)
                for each in fresh:
                    running.count(each)

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

    def _ask(self, running: RunningCrawl, links: Sequence[Asked]) -> None:
        """Takes on what belongs to the site and has room, and has it queued."""
        checked = [self._admission.check(link.url) for link in links]
        with self._changed:
            if running.is_ending:
                return
            inside = running.scope.contains_each([each.url for each in checked])
            taken: list[tuple[Asked, Checked]] = []
            for link, each, is_inside in zip(links, checked, inside, strict=True):
                if not running.is_new(each.url):
                    continue
                reason = each.refusal or ("" if is_inside else "out_of_scope")
                reason = reason or running.has_room(each.url, each.host)
                if reason:
                    running.leave_out(reason)
                    running.remember(each.url)
                else:
                    asked = Asked(each.url, link.depth)
                    running.take_on(asked, each.host)
                    taken.append((asked, each))
                if link.url != each.url:
                    running.remember(link.url)
            self._ledger.add_asked(running.crawl, [asked for asked, _ in taken])
        self._submit(running, taken)

    def _submit(self, running: RunningCrawl, taken: Sequence[tuple[Asked, Checked]]) -> list[Asked]:
        """Queues what was taken on; what there is no room for, which is held back."""
        if not taken:
            return []
        wishes = [running.wish(asked) for asked, _ in taken]
        submitted = self._intake.submit(wishes, checked=[each for _, each in taken])
        held = [asked for (asked, _), each in zip(taken, submitted, strict=True) if not each.id]
        with self._changed:
            running.held.extend(held)
            is_ending = running.is_ending
        if is_ending:  # it was cancelled meanwhile
            self._queue.finish([running.job_of(asked) for asked, _ in taken]).result()
        return held

    def _queue_held(self, running: RunningCrawl) -> None:
        """Tries again to queue what had no room, until there is none again."""
        for _ in range(len(running.held) // _QUEUED_AT_ONCE + 1):
            with self._changed:
                count = min(len(running.held), _QUEUED_AT_ONCE)
                waiting = running.unfinished(running.held.popleft() for _ in range(count))
            taken = [(asked, Checked(asked.url, host_of(asked.url) or "")) for asked in waiting]
            if self._submit(running, taken) or not count:
                return

    def _scope(self, wish: CrawlWish) -> CrawlScope:
        checked = [self._admission.check(seed) for seed in wish.seeds]
        return CrawlScope.of(wish.scope, [each.url for each in checked if not each.refusal])

    def _resume(self, crawl: SiteCrawl) -> None:
        crawl.counts = CrawlCounts(left_out=crawl.counts.left_out)
        running = RunningCrawl(crawl, self._scope(crawl.wish))
        asked = list(self._ledger.asked(crawl.id))
        for each in asked:
            running.take_on(each, host_of(each.url) or "")
        after = 0
        while ended := self._ledger.ended(crawl.id, after):
            for _, finished in ended:
                running.count(finished)
            after = ended[-1][0]
        running.held.extend(running.unfinished(asked))
        self._running[crawl.id] = running
        if not asked:  # it died before its seeds were noted
            self._ask(running, [Asked(seed) for seed in crawl.wish.seeds])
        with self._changed:
            if crawl.counts.outstanding <= 0:
                self._end(running, CrawlState.FINISHED)

    def _end(self, running: RunningCrawl, state: CrawlState) -> None:
        crawl = running.crawl
        crawl.state, crawl.ended_ms = state, self._clock.now_ms()
        self._ledger.save(crawl)
        self._running.pop(crawl.id, None)
        self._changed.notify_all()


def _copy(crawl: SiteCrawl) -> SiteCrawl:
    """As it is at the moment: of one that runs the counts change meanwhile."""
    counts: Any = msgspec.structs.replace(crawl.counts, left_out=dict(crawl.counts.left_out))
    return msgspec.structs.replace(crawl, counts=counts)
