"""The fetcher as a machine without threads: what to ask next, and what an answer means.

    next_request   the next request that may be sent now; or until when to wait; or the end.
                   URLs of the list go to their servers' queues, as many as memory allows
    handle         takes in an answer: a record, a redirect, a pause for the server, new rules
    commit_point   all answers that came together were handled

A driver (crawl/fetcher/drivers), threads in real time or a simulator in virtual time, calls
these one at a time and sends the request itself in between. Politeness cannot be passed by:
every request, robots.txt and redirects included, comes out of `next_request`, and a page only
under rules that allow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crawl.fetcher.engine.follower import Follower
from crawl.fetcher.engine.host_troubles import HostTroubles
from crawl.fetcher.engine.page_handler import PageHandler
from crawl.fetcher.engine.robots_handler import RobotsHandler
from crawl.fetcher.engine.tail import SilentServers, Tail
from crawl.fetcher.frontier.queue import HostQueue, Idle
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.frontier.seen_urls import SeenUrls
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.item import FetchItem, Purpose
from crawl.fetcher.values.outcome import ROBOTS_DENIED
from crawl.fetcher.values.output_port import OutputPort
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.record import FetchRecord, linked_record, record_of
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.model.answer_keys import ETAG_KEY, LAST_MODIFIED_KEY
from crawl.model.datum import FETCH_DELAY_KEY, CrawlDatum
from crawl.model.value import quick_value
from crawl.robots.read import MAX_BYTES
from crawl.urls.servers import server_of

CRASHED = "crashed"
"""Why a fetch ends of which a thread died."""
_ASKED_AGAIN = (FailureKind.STALE_CONNECTION, FailureKind.REFUSED_HEAD)
"""Failures that say nothing of the page: it is asked for once more, after the server's pause."""
_PARSE_WAIT_S = 0.05
"""Until pages that are being parsed are looked for again."""


@quick_value(frozen=True, slots=True)
class ReadyRequest:
    """A request that may be sent now."""

    item: FetchItem
    request: Request


class FetchEngine:
    """Fetches one list of URLs, and what is added to it."""

    def __init__(
        self,
        urls: Iterator[tuple[str, CrawlDatum]],
        settings: FetchSettings,
        politeness: Politeness,
        hooks: EngineHooks,
        output: OutputPort,
        *,
        deadline: float | None = None,
    ) -> None:
        self._urls = urls
        self._list_read = False
        self.settings = settings
        self.politeness = politeness
        self.hooks = hooks
        self.output = output
        self.deadline = deadline
        self.seen_urls = SeenUrls(settings.max_seen_urls)
        self._max_waiting = settings.threads * settings.depth
        """How many URLs may wait in memory."""
        self._refill_below = self._max_waiting - self._max_waiting // 8 - 1
        """With so few waiting, more of the list are read."""
        self.queues = HostQueues(
            politeness, max_past=settings.max_past_hosts, known_server=hooks.known_server
        )
        self.counters = output.counters
        self.troubles = HostTroubles(hooks.clock, settings.max_past_hosts)
        """Hosts that the rounds after this one leave alone for a while."""
        self.stopped = ""
        """Why nothing more is taken; empty while the fetch goes on."""
        self._has_crashed = False
        self._robots = RobotsHandler(self)
        self.follower = Follower(self)
        self._pages = PageHandler(self, self.follower)
        silent = SilentServers(
            max(settings.tail_silence_s, politeness.usual.delay_s), hooks.is_slow_host
        )
        self._tail = Tail(self, self._robots, settings.tail_wait_s, silent)

    # what to ask next

    def next_request(self, now: float) -> ReadyRequest | Idle | None:
        """Returns the next request; until when there is none; or None when all is done."""
        if self._has_crashed:
            return None  # what the thread that died had taken is never given back
        output = self.output
        if output.parses_pages:
            for links in output.found_links():
                self.follower.follow_links(links.targets, links.depth)
            if output.is_behind and not self.stopped:
                return Idle(now + _PARSE_WAIT_S)
        work = self._next_request(now)
        if isinstance(work, ReadyRequest):
            return work  # its answer will be followed by a commit point
        output.commit_point(now)
        if work is None and not self.stopped and output.awaits_links():
            return Idle(now + _PARSE_WAIT_S)
        return work

    def _next_request(self, now: float) -> ReadyRequest | Idle | None:
        if self.deadline is not None and now >= self.deadline:
            self.stop("time_limit")
        while True:
            self._read_list(now)
            taken = self.queues.take(now)
            if isinstance(taken, Idle):
                if (idle := self._tail.wait(taken, now)) is None:
                    continue
                return self._idle_or_end(idle)
            if (work := self._request_for(taken, now)) is not None:
                return work

    def _idle_or_end(self, idle: Idle) -> Idle | None:
        if self.queues.in_progress:
            return idle
        if not self.queues.waiting and self._list_read:
            return None
        if idle.until is None:
            # pages held back with no request under way to set them free would wait for ever
            self.stop("stuck")
            return None
        if self.deadline is not None and idle.until > self.deadline:
            # all that is left would have to wait for longer than there is time
            self.stop("time_limit")
            return None
        return idle

    def _request_for(self, item: FetchItem, now: float) -> ReadyRequest | None:
        """Returns the request for an item that was taken; None where it needs none."""
        if item.purpose is Purpose.ROBOTS:
            self._tail.silent.asked(item, now)
            return ReadyRequest(item, Request(item.url, max_bytes=MAX_BYTES))
        rules = self._robots.rules_of(item, now)
        if rules is None:
            self.queues.release(item, now, asked=False)
            self._robots.wait_for_rules(item)
            return None
        why_left_out = self.hooks.why_left_out
        if why_left_out is not None and (reason := why_left_out(item.url, rules)):
            self.return_unfetched([item], reason)
            self.queues.release(item, now, asked=False)
            return None
        if rules.rules and not rules.allows(item.url):
            self.emit(record_of(item, ROBOTS_DENIED, self.hooks.clock.now_ms(), message=""))
            self.counters["robots_denied"] += 1
            self.queues.release(item, now, asked=False)
            return None
        delay = rules.crawl_delay_s
        if delay is not None and self.politeness.is_too_long(delay):
            base_s = max(delay, self.settings.robots_expire_s)  # until its rules are read again
            reply = f"robots.txt: Crawl-delay {delay:g} s"
            self.troubles.give_up(item.host, "crawl_delay_too_long", now, now, base_s, reply)
            self.return_unfetched([item], "crawl_delay_too_long")
            self.queues.release(item, now, asked=False)
            return None
        version = item.datum.metadata.get
        etag, last_modified = version(ETAG_KEY, ""), version(LAST_MODIFIED_KEY, "")
        request = Request(item.url, item.datum.modified_time, etag, last_modified)
        return ReadyRequest(item, request)

    def _read_list(self, now: float) -> None:
        """Reads on in the list: many URLs at a time, which is cheaper than each by itself."""
        if self.queues.waiting > self._refill_below:
            return
        self.queues.forget_idle_if_many(now)
        while not self._list_read and not self.stopped and self.queues.waiting < self._max_waiting:
            entry = next(self._urls, None)
            if entry is None:
                self._list_read = True
                return
            url, datum = entry
            self._add(url, datum)

    def add(self, url: str, datum: CrawlDatum, now: float) -> None:
        """Queues a URL that is not on the list. One that this engine has met before is not
        fetched again, but counted, until `forget_seen` is called, or so many others were met
        since that it is forgotten (SeenUrls). For an engine that is fed for months the settings
        say for how long a server in trouble is left alone: by default, to the end."""
        self._forget_past(now)
        self._add(url, datum)

    def _forget_past(self, now: float) -> None:
        """Forgets what means nothing any more, where there is much of it; never what waits, a
        pause that still runs, or a host that must still be left alone."""
        self.troubles.reopen(self.queues.reopen(now))
        self.queues.forget_idle_if_many(now)
        self.queues.forget_past(now)
        if past := self.troubles.take_past(now):
            self.output.add_host_troubles(past)
        self.seen_urls.make_room(page.url for queue in self.queues for page in queue.pages)

    def forget_seen(self) -> None:
        """Lets URLs be fetched again that this engine has met, for a caller who asks for pages
        one by one. Only while nothing waits or is under way: that must not be asked twice."""
        if self.queues.waiting or self.queues.in_progress:
            raise RuntimeError("URLs that wait or are under way must not be forgotten")
        self.seen_urls = SeenUrls(self.settings.max_seen_urls)

    def _add(self, url: str, datum: CrawlDatum) -> None:
        if self.hooks.accept_listed is not None:
            admitted, reason = self.hooks.accept_listed(url)
            if admitted is None:
                self.counters[f"handed_back.{reason}"] += 1
                return
            url = admitted
        if not self.seen_urls.is_new(url):
            self.counters["already_fetched_here"] += 1
            return
        item = self.item_of(url, datum)
        if item is None:
            self.counters["no_host"] += 1
            return
        self.enqueue(item)

    def item_of(self, url: str, datum: CrawlDatum) -> FetchItem | None:
        server = server_of(url)
        if server is None:
            return None
        host = server.host
        key = self.hooks.key_of(host)
        if self.hooks.address_of is not None:
            address = self.hooks.address_of(host)
            if address is not None:
                self.queues.set_address(host, address)
        item = FetchItem(url, host, server.origin, key, datum)
        self._robots.set_pace(item)
        own_delay = datum.metadata.get(FETCH_DELAY_KEY)
        if own_delay and own_delay.isascii() and own_delay.isdigit():
            queue = self.queues.queue(key)
            # never shorter than the usual pause, nor than what robots.txt asks for
            longer_s = max(int(own_delay) / 1000, queue.pace.delay_s, queue.min_delay_s)
            queue.pace = replace(queue.pace, delay_s=longer_s)
        return item

    def enqueue(self, item: FetchItem, *, first: bool = False) -> None:
        # not into the queue: it may have to wait for long only to be returned
        refused = self._robots.refusal(item) or self.queues.put(item, first=first)
        if refused:
            self.troubles.refuse(item.key, item.host, self.hooks.clock.monotonic())
            self.return_unfetched([item], refused)

    # what an answer means

    def handle(self, work: ReadyRequest, answer: Response | Failure, now: float) -> None:
        """Takes in the answer to a request; the server's pause begins at `now`."""
        item, counters = work.item, self.counters
        if item.purpose is Purpose.ROBOTS and not self._tail.silent.answered(item, now):
            return  # it was given up
        queue = self.queues.release(item, now, asked=answer.sent > 0)
        counters["requests"] += 1
        if isinstance(answer, Response):
            counters["bytes"] += len(answer.body)
        elif answer.kind in _ASKED_AGAIN and not item.asked_again:
            counters["asked_again"] += 1
            self.enqueue(replace(item, asked_again=True), first=True)
            return
        if item.purpose is Purpose.ROBOTS:
            self._robots.handle(item, answer, now)
        else:
            self._pages.handle(item, queue, answer, now)

    def commit_point(self, now: float) -> None:
        """To be called when all answers that came together were handled."""
        self.output.commit_point(now)

    def close(self, queue: HostQueue, reason: str, now: float, reply: str = "") -> None:
        """Gives up a server: its URLs are returned unfetched; `reply` is its last answer."""
        self.counters["queues_closed"] += 1
        until = max(now + self.settings.leave_alone_s, queue.ready_at)
        items = self.queues.drain(queue, reason, until)
        hosts = {item.host for item in items}
        self.troubles.close(queue.key, hosts, reason, now, queue.ready_at, reply)
        self.return_unfetched(items, reason)

    # the end

    def stop(self, reason: str) -> None:
        """Takes nothing more; what waits and what is not yet read is returned unfetched."""
        self._has_crashed |= reason == CRASHED
        if self.stopped:
            return
        self.stopped = reason
        for queue in list(self.queues):
            self.return_unfetched(self.queues.drain(queue, reason), reason)
        for _ in self._urls:
            self.counters[f"handed_back.{reason}"] += 1
        self._list_read = True

    def finish(self) -> None:
        """Brings out what is left when the driver has ended: redirects' targets whose requests
        hang, and hosts that failed."""
        self.follower.leave_open_targets()
        self.output.add_host_troubles(self.troubles.all_hosts())

    @property
    def cross_part_authorities(self) -> dict[str, str]:
        """The authorities whose pages were returned because their robots.txt redirects to a
        server of another part, and where: they can be fetched when nobody else asks it."""
        return self._robots.cross_part_authorities()

    def return_unfetched(self, items: list[FetchItem], reason: str) -> None:
        """Gives up URLs for this run. Those of the list stay due in the CrawlDb: they are counted,
        not recorded. A redirect's target, which the CrawlDb may not know, is recorded as a link;
        of a followed link the CrawlDb hears by the parse of the page that has it."""
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
        self.output.add(record)
        if self.follower.open_targets:
            self.follower.open_targets.pop(record.url, None)
