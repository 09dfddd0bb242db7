"""The fetcher as a machine without threads: what to ask next, and what an answer means.

    feed        URLs of the list go to their servers' queues, as many as memory allows
    next_work   the next request that may be sent now; or until when to wait; or the end
    handle      an answer: a record, a redirect, a pause for the server, rules learnt

Whoever runs it, threads in real time or a simulator in virtual time, calls these one at
a time and sends the request itself in between. Politeness cannot be passed by: every
request, robots.txt and redirects included, comes out of `next_work`, and a page only
under rules that allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from crawl.counters import Counters
from crawl.fetcher.engine.host_troubles import HostTroubles
from crawl.fetcher.engine.robots_line import RobotsLine
from crawl.fetcher.engine.silent import SilentServers
from crawl.fetcher.engine.tail import Tail
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.queues import HostQueues, Nothing
from crawl.fetcher.frontier.seen import Seen
from crawl.fetcher.values.item import FetchItem, Purpose
from crawl.fetcher.values.outcome import ROBOTS_DENIED, Blame, answer_label, outcome_of
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.record import FetchRecord, inherited, linked_record, record_of
from crawl.fetcher.values.settings import FetchSettings
from crawl.fetcher.values.surroundings import Surroundings
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.interfaces.scoring import Target
from crawl.model.answer_keys import ETAG_KEY
from crawl.model.datum import FETCH_DELAY_KEY, CrawlDatum
from crawl.model.protocol_status import ProtocolStatus
from crawl.model.status import Status
from crawl.model.value import quick_value
from crawl.robots.read import MAX_BYTES
from crawl.robots.waits import retry_after_seconds
from crawl.rules.redirect import representative
from crawl.urls.parse import host_of, resolve
from crawl.urls.servers import server_of

_FORGET_ABOVE = 1000
"""Queues that may stand about idle before they are looked through."""


@quick_value(frozen=True, slots=True)
class Work:
    """A request that may be sent now."""

    item: FetchItem
    request: Request


class FetchEngine:
    """One fetch list on its way."""

    def __init__(
        self,
        urls: Iterator[tuple[str, CrawlDatum]],
        settings: FetchSettings,
        politeness: Politeness,
        around: Surroundings,
        *,
        deadline: float | None = None,
    ) -> None:
        self._urls = urls
        self._fed = False
        self._settings = settings
        self._politeness = politeness
        self._around = around
        self._deadline = deadline
        self._seen = Seen()
        self._forget_above = _FORGET_ABOVE
        self._room = settings.threads * settings.depth
        """URLs that may wait."""
        self._low = self._room - self._room // 8 - 1
        """So few that more are read."""
        self.queues = HostQueues(politeness)
        self.counters = Counters()
        self.troubles = HostTroubles(around.clock)
        """Hosts that the rounds after this one leave alone for a while."""
        self.stopped = ""
        """Why nothing more is taken; empty while the fetch goes on."""
        self._robots = RobotsLine(
            *(self, settings, politeness, around.clock),
            deadline=deadline,
            archive=around.archive,
            elsewhere=around.elsewhere,
        )
        silent = SilentServers(
            max(settings.tail_silence_s, politeness.usual.delay_s), around.needs_time
        )
        self._tail = Tail(self, self._robots, self._close, settings.tail_wait_s, silent)

    # what to ask next

    def next_work(self, now: float) -> Work | Nothing | None:
        """The next request; until when there is none; None when all is done."""
        if self._deadline is not None and now >= self._deadline:
            self.stop("time_limit")
        while True:
            self._feed(now)
            taken = self.queues.take(now)
            if isinstance(taken, Nothing):
                if (nothing := self._tail.wait(taken, now)) is None:
                    continue
                return self._idle(nothing)
            if (work := self._work(taken, now)) is not None:
                return work

    def _idle(self, nothing: Nothing) -> Nothing | None:
        if self.queues.in_progress:
            return nothing
        if not self.queues.waiting and self._fed:
            return None
        if nothing.until is None:
            # pages held back with nobody under way to set them free would wait for ever
            self.stop("stuck")
            return None
        if self._deadline is not None and nothing.until > self._deadline:
            # all that is left would have to wait for longer than there is time
            self.stop("time_limit")
            return None
        return nothing

    def _work(self, item: FetchItem, now: float) -> Work | None:
        """The request for an item that was taken; None where it is settled without one."""
        if item.purpose is Purpose.ROBOTS:
            self._tail.silent.asked(item, now)
            return Work(item, Request(item.url, max_bytes=MAX_BYTES))
        rules = self._robots.rules_of(item, now)
        if rules is None:
            self.queues.release(item, now, asked=False)
            self._robots.wait_for_rules(item)
            return None
        if rules.rules and not rules.allows(item.url):
            self.emit(record_of(item, ROBOTS_DENIED, self._around.clock.now_ms(), message=""))
            self.counters["robots_denied"] += 1
            self.queues.release(item, now, asked=False)
            return None
        delay = rules.crawl_delay_s
        if delay is not None and self._politeness.is_too_long(delay):
            base_s = max(delay, self._settings.robots_expire_s)  # until its rules are read again
            self.troubles.give_up(item.host, "crawl_delay_too_long", now, now, base_s)
            self.hand_back([item], "crawl_delay_too_long")
            self.queues.release(item, now, asked=False)
            return None
        datum = item.datum
        request = Request(item.url, datum.modified_time, datum.metadata.get(ETAG_KEY, ""))
        return Work(item, request)

    def _feed(self, now: float) -> None:
        """Reads on in the list; a good many URLs at a time, which is cheaper than each by
        itself."""
        if self.queues.waiting > self._low:
            return
        if len(self.queues) > self._forget_above:
            self.queues.forget_idle(now)
            self._forget_above = 2 * len(self.queues) + _FORGET_ABOVE
        while not self._fed and not self.stopped and self.queues.waiting < self._room:
            entry = next(self._urls, None)
            if entry is None:
                self._fed = True
                return
            url, datum = entry
            self._add(url, datum)

    def add(self, url: str, datum: CrawlDatum, now: float) -> None:
        """A URL that is not of the list, but wanted now: it may have been asked for before."""
        self._seen = Seen()
        self.queues.reopen(now)
        self._add(url, datum)

    def _add(self, url: str, datum: CrawlDatum) -> None:
        if self._around.admitted is not None:
            admitted, reason = self._around.admitted(url)
            if admitted is None:
                self.counters[f"handed_back.{reason}"] += 1
                return
            url = admitted
        if not self._seen.is_new(url):
            self.counters["already_fetched_here"] += 1
            return
        item = self.item_of(url, datum)
        if item is None:
            self.counters["no_host"] += 1
            return
        self.line_up(item)

    def item_of(self, url: str, datum: CrawlDatum) -> FetchItem | None:
        server = server_of(url)
        if server is None:
            return None
        host = server.host
        key = self._around.key_of(host)
        if self._around.address_of is not None:
            address = self._around.address_of(host)
            if address is not None:
                self.queues.set_address(host, address)
        item = FetchItem(url, host, server.origin, key, datum)
        self._robots.set_pace(item)
        own_delay = datum.metadata.get(FETCH_DELAY_KEY)
        if own_delay and own_delay.isascii() and own_delay.isdigit():
            queue = self.queues.queue(key)
            queue.pace = replace(queue.pace, delay_s=max(int(own_delay) / 1000, queue.floor_s))
        return item

    def line_up(self, item: FetchItem, *, first: bool = False) -> None:
        # not into the queue: it may have to wait for long only to be handed back
        refused = self._robots.refusal(item) or self.queues.put(item, first=first)
        if refused:
            self.troubles.refuse(item.key, item.host, self._around.clock.monotonic())
            self.hand_back([item], refused)

    # what an answer means

    def handle(self, work: Work, answer: Response | Failure, now: float) -> None:
        """Takes in the answer to a request; the server's pause begins at `now`."""
        item, counters = work.item, self.counters
        if item.purpose is Purpose.ROBOTS and not self._tail.silent.answered(item, now):
            return  # it was given up
        queue = self.queues.release(item, now, asked=answer.sent > 0)
        counters["requests"] += 1
        if isinstance(answer, Response):
            counters["bytes"] += len(answer.body)
        elif answer.kind is FailureKind.STALE_CONNECTION and not item.asked_again:
            counters["asked_again"] += 1
            self.line_up(replace(item, asked_again=True), first=True)
            return
        if item.purpose is Purpose.ROBOTS:
            self._robots.handle(item, answer, now)
        else:
            self._handle_page(item, queue, answer, now)

    def settle(self, now: float) -> None:
        """To be called when all answers that came together were handled."""

    def _handle_page(
        self, item: FetchItem, queue: HostQueue, answer: Response | Failure, now: float
    ) -> None:
        outcome = outcome_of(answer)
        now_ms = self._around.clock.now_ms()
        self.counters[outcome.label] += 1
        self.counters[answer_label(answer)] += 1
        keep = self._settings.store_content
        self.emit(record_of(item, outcome, now_ms, answer, store_content=keep))
        if isinstance(answer, Response) and 300 <= answer.code < 400 and answer.code != 304:
            temporary = outcome.protocol_status is ProtocolStatus.TEMP_MOVED
            self._redirect(item, answer, temporary=temporary)
        if outcome.blame is Blame.NONE:
            queue.exceptions = 0
            if self.troubles:
                self.troubles.answered(item.host)
        else:
            self._blame(item, queue, outcome.blame, answer, now)

    def _blame(
        self,
        item: FetchItem,
        queue: HostQueue,
        blame: Blame,
        answer: Response | Failure,
        now: float,
    ) -> None:
        queue.exceptions += 1
        pause = self._politeness.back_off(queue.exceptions, self._around.chance.random())
        why = "failures"
        if blame is Blame.PAUSE and isinstance(answer, Response):
            header = answer.header("retry-after")
            asked_for = retry_after_seconds(header, self._around.clock.now_ms())
            if asked_for is not None:
                pause, why = max(asked_for, queue.pace.delay_s), "Retry-After"
        queue.wait_until(now + pause, why)
        self.troubles.pause(item.host, "failures", now, now + pause, pause)
        if 0 <= self._politeness.max_exceptions <= queue.exceptions:
            self._close(queue, "too_many_failures", now)
        elif self._deadline is not None and now + pause >= self._deadline:
            self._close(queue, "pause_beyond_time_limit", now)
        else:
            self.queues.offer(queue)

    def _close(self, queue: HostQueue, reason: str, now: float) -> None:
        self.counters["queues_closed"] += 1
        until = max(now + self._settings.leave_alone_s, queue.ready_at)
        left = self.queues.drain(queue, reason, until)
        self.troubles.close(queue.key, {item.host for item in left}, reason, now, queue.ready_at)
        self.hand_back(left, reason)

    def _redirect(self, item: FetchItem, answer: Response, *, temporary: bool) -> None:
        location = answer.header("location")
        target = resolve(item.url, location) if location else None
        if target is None:
            self.counters["redirects_dropped.no_target"] += 1
            return
        accepted, reason = self._around.accepted(target)
        if accepted is None:
            self.counters[f"redirects_dropped.{reason}"] += 1
            return
        if accepted == item.url or accepted in item.came_by:
            self.counters["redirects_dropped.loop"] += 1
            return
        astray = self._around.astray(item.url, accepted)
        if astray:
            self.counters[f"redirects_dropped.{astray}"] += 1
            return
        shown = representative(item.representative or item.url, accepted, temporary=temporary)
        host = host_of(accepted) or ""
        is_too_many = len(item.came_by) >= self._settings.redirect_max
        may_add = not self.stopped and not self._seen.is_full
        if may_add and not is_too_many and self._around.owns(self._around.key_of(host)):
            self._follow(item, accepted, shown)
        elif is_too_many and self._settings.redirect_max and self._settings.redirect_exceeded_skip:
            self.counters["redirects_dropped.too_many"] += 1
        else:
            self.counters["redirects_left_for_later"] += 1
            self.emit(linked_record(accepted, host, item, shown))

    def _follow(self, item: FetchItem, target: str, shown: str) -> None:
        """The target waits in its own server's queue, under its own rules."""
        if not self._seen.is_new(target):
            self.counters["redirects_dropped.already_fetched"] += 1
            return
        metadata = inherited(item.datum.metadata)  # the source's ETag is not the target's
        datum = replace(item.datum, modified_time=0, signature=None, metadata=metadata)
        found = self.item_of(target, datum)
        if found is None:
            self.counters["redirects_dropped.no_host"] += 1
            return
        self.counters["redirects_followed"] += 1
        came_by = (*item.came_by, item.url)
        found = replace(found, came_by=came_by, representative=shown, depth=item.depth)
        self._around.followed(found)
        self.line_up(found)

    def follow(self, targets: Iterable[Target], depth: int) -> None:
        """Links of a page are asked for in this run, in their own servers' queues and under
        their own rules. They are left for later where that cannot be: the CrawlDb hears of
        them by the page's parse."""
        for url, datum in targets:
            host = host_of(url) or ""
            if self.stopped or self._seen.is_full:
                reason = self.stopped or "too_many"
            elif not self._around.owns(self._around.key_of(host)):
                reason = "server_of_another_part"
            elif not self._seen.is_new(url):
                reason = "already_fetched"
            elif (item := self.item_of(url, replace(datum, status=Status.DB_UNFETCHED))) is None:
                reason = "no_host"
            else:
                self.counters["outlinks_followed"] += 1
                self.line_up(replace(item, depth=depth))
                continue
            self.counters[f"outlinks_not_followed.{reason}"] += 1

    # the end

    def stop(self, reason: str) -> None:
        """Takes nothing more; what waits and what is not yet fed is handed back."""
        if self.stopped:
            return
        self.stopped = reason
        for queue in list(self.queues):
            self.hand_back(self.queues.drain(queue, reason), reason)
        for _ in self._urls:
            self.counters[f"handed_back.{reason}"] += 1
        self._fed = True

    @property
    def strays(self) -> list[str]:
        """The authorities whose pages were handed back because the server that tells their
        rules is another part's: they can be asked when nobody else asks it."""
        return self._robots.strays()

    def hand_back(self, items: list[FetchItem], reason: str) -> None:
        """URLs of the list that are not served stay due in the CrawlDb; they are counted, not
        recorded. The CrawlDb may not know a redirect's target: it is left for later. It hears of
        a followed link by the parse of the page that has it."""
        pages = 0
        for item in items:
            if item.purpose is not Purpose.PAGE:
                continue
            pages += 1
            if item.came_by:
                shown = item.representative or item.url
                self.emit(linked_record(item.url, item.host, item, shown))
            elif item.depth:
                self.counters[f"outlinks_not_served.{reason}"] += 1
            else:
                self.counters[f"handed_back.{reason}"] += 1
        if pages < len(items) and not self.stopped:
            for item in items:
                if item.purpose is Purpose.ROBOTS:
                    self._robots.give_up(item.robots_for)

    def emit(self, record: FetchRecord) -> None:
        self.counters["records"] += 1
        self._around.emit(record)
