"""Feeds the lane from the queue: by priority, fairly between hosts, and what is known by now is
answered without a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Condition

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.model.answer_keys import ETAG_KEY, LAST_MODIFIED_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.lane import Lane
from crawl.service.fetching.send_gate import NOBODY, SendGate
from crawl.service.intake.freshness import Freshness
from crawl.service.pages import Pages
from crawl.service.queues.queue import Entry, Queue
from crawl.service.values import Job, Page, job_of
from crawl.urls.parse import host_of

_TICK_S = 1.0
"""So often it looks although nobody woke it: a clock may have been set."""

_log = logging.getLogger(__name__)


class Dispatcher:
    """Runs in a thread of its own, until it is stopped."""

    def __init__(
        self,
        queue: Queue,
        lane: Lane,
        pages: Pages,
        clock: Clock,
        counters: Counters,
        on_known: Callable[[Page], None],
        freshness: Freshness,
        interval_s: int,
        gate: SendGate,
        has_come: Callable[[Job], bool],
        is_held_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self._queue = queue
        self._lane = lane
        self._pages = pages
        self._clock = clock
        self._counters = counters
        self._freshness = freshness
        self._interval_s = interval_s
        self._gate = gate
        self._held: dict[str, int] = {}
        """Hosts whose jobs are met although a batch fetch has their servers: none of them is
        claimed until it has ended."""
        self._is_taken_back = False
        self._is_held_up = is_held_up
        """Whether what comes cannot be stored at the moment: nothing more is asked for then."""
        self._has_come = has_come
        """Whether the URL of a site crawl's job was fetched in that crawl."""
        self._on_known = on_known
        """Told of a page that answers the jobs that wait for its URL."""
        self._changed = Condition()
        self._is_woken = True
        self._is_stopped = False

    def wake(self) -> None:
        """Has it look at once: a job came, or there is room in the lane."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()

    def taken_back(self) -> None:
        """Has it look anew for jobs that waited for a batch fetch."""
        self._is_taken_back = True
        self.wake()

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify()

    def run(self) -> None:
        """Claims and feeds until it is stopped."""
        while self._wait():
            while self.feed_some():
                pass

    def feed_some(self) -> bool:
        """Claims what there is room for and feeds it; whether there was any."""
        entries = self._claim()
        self._feed(entries)
        return bool(entries)

    def _claim(self) -> Sequence[Entry]:
        if self._is_taken_back:
            self._is_taken_back = False
            self._held.clear()
        room = self._lane.room()
        if room <= 0 or not self._gate.is_open or self._is_held_up():
            return ()
        now_ms, per_host = self._clock.now_ms(), self._lane.max_per_host
        if not self._held:
            return self._queue.claim(room, now_ms, per_key=per_host)
        return self._queue.claim(room, now_ms, per_key=self._held, per_other_key=per_host)

    def _wait(self) -> bool:
        with self._changed:
            if not self._is_woken and not self._is_stopped:
                now_ms = self._clock.now_ms()
                due_ms = self._queue.next_due_ms(now_ms)
                wait_s = _TICK_S if due_ms is None else min(_TICK_S, (due_ms - now_ms) / 1000)
                self._changed.wait(wait_s)
            self._is_woken = False
            return not self._is_stopped

    def _feed(self, entries: Sequence[Entry]) -> None:
        entries = [entry for entry in entries if not self._holds_back(entry)]
        jobs = [job_of(entry.payload) for entry in entries]
        for job, page in zip(jobs, self._pages.get([job.url for job in jobs]), strict=True):
            if page is not None and self._answers(page, job):
                self._counters["answered_while_waiting"] += 1
                self._on_known(page)
            else:  # or it waits for what is under way
                self._lane.feed(job.url, self._datum(job, page), job.id)

    def _holds_back(self, entry: Entry) -> bool:
        """Puts a job back whose server a batch fetch has, with all others of its host."""
        if self._gate.yielded is NOBODY:
            return False
        if entry.key not in self._held:
            if self._lane.key_of(entry.key) not in self._gate.yielded:
                return False
            self._held[entry.key] = 0
            self._counters["hosts_held_for_fetch"] += 1
        self._queue.release(entry.id, 0)
        return True

    def _datum(self, job: Job, page: Page | None) -> CrawlDatum:
        """The record with which a URL is asked for. What did not change need not be sent again,
        unless a site is crawled: its pages are wanted as they are, with their links."""
        is_lacking = page is not None and bool(page.truncated or _lacks_markdown(page, job))
        is_wanted_whole = bool(job.wish.crawl) or is_lacking
        metadata = {}
        modified_ms = 0
        if page is not None and page.is_page and page.segment and not is_wanted_whole:
            if page.etag:
                metadata[ETAG_KEY] = page.etag
            if page.last_modified:
                metadata[LAST_MODIFIED_KEY] = page.last_modified
            modified_ms = page.changed_ms
        return CrawlDatum(
            Status.DB_UNFETCHED if page is None else Status.DB_FETCHED,
            self._clock.now_ms(),
            modified_ms,
            self._interval_s,
            score=1.0,
            metadata=metadata,
        )

    def _answers(self, page: Page, job: Job) -> bool:
        """Whether a page was fetched since the job came, by a service that died before it could
        say so; or is fresh enough by now: where a redirect leads, or for a job that came while
        the answer was being stored."""
        if page.status == Status.FETCH_RETRY or _lacks_markdown(page, job):
            return False
        if page.fetched_ms >= job.submitted_ms:
            return True
        if job.wish.crawl and not job.image_of and self._has_come(job):
            return True
        host, max_age_s = host_of(page.url) or "", None if job.image_of else job.wish.max_age_s
        return self._freshness.is_fresh(page, host, max_age_s, self._clock.now_ms())


def _lacks_markdown(page: Page, job: Job) -> bool:
    is_wanted = job.wish.wants_markdown and not job.image_of
    return is_wanted and page.is_page and page.markdown is None
