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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from crawl.fetcher.engine.follower import Follower
from crawl.fetcher.engine.host_troubles import HostTroubles
from crawl.fetcher.engine.page_handler import PageHandler
from crawl.fetcher.engine.robots_handler import RobotsHandler
from crawl.fetcher.engine.tail import SilentServers, Tail
from crawl.fetcher.frontier.queue import HostQueue, Idle, ServerState
from crawl.fetcher.frontier.queue_stats import IdleQueues, idle_queues
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
from crawl.model.status import Status
from crawl.model.value import quick_value
from crawl.model.value import replace as quick_replace
from crawl.robots.read import MAX_BYTES
from crawl.urls.servers import server_of

CRASHED = "crashed"
"""Why a fetch ends of which a thread died."""
ALREADY_FETCHED = "already_fetched_here"
"""Why a URL is not taken in that this engine has met before."""
_ASKED_AGAIN = (FailureKind.STALE_CONNECTION, FailureKind.REFUSED_HEAD)
"""Failures that say nothing of the page: it is asked for once more, after the server's pause."""
_PARSE_WAIT_S = 0.05
"""Until pages that are being parsed are looked for again."""
STUCK = "stuck"
"""Why pages are given back for which nothing is under way that would set them free."""
HUNG = "hung"
"""Why pages are given back whose requests had not ended when the fetch did."""


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
        is_fed: bool = False,
    ) -> None:
        """An engine that `is_fed` does not end when it has nothing to do, but when `end_feed` or
        `stop` is called; until then every URL that `add` is given ends in a record or is given
        back (`EngineHooks.on_returned`), and what was given back may be added again."""
        self._urls = urls
        self.is_fed = is_fed
        """Whether URLs may still come by `add`, so that to have none is no end."""
        self._open: dict[str, FetchItem] | None = {} if is_fed else None
        """Of an engine that is fed: the pages that wait or are under way."""
        self._on_returned, self._may_send = hooks.on_returned, hooks.may_send
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
            # its answer will be followed by a commit point
            return work if self._may_send is None else _guarded(work, self._may_send)
        output.commit_point(now)
        if self.is_fed and work is not None:
            return self._until_due(work, now)
        if work is None and not self.stopped and output.awaits_links():
            return Idle(now + _PARSE_WAIT_S)
        return work

    def _until_due(self, idle: Idle, now: float) -> Idle:
        """Has a driver that would rest call again when the output has something to do."""
        due = now if self.output.awaits_links() else self.output.commit_due()
        if due is None:
            return idle
        # what should have been done by now waits for the output's own thread
        due = max(due, now + _PARSE_WAIT_S)
        return Idle(due) if idle.until is None or due < idle.until else idle

    def _next_request(self, now: float) -> ReadyRequest | Idle | None:
        if self.deadline is not None and now >= self.deadline:
            self.stop("time_limit")
        while True:
            self._read_list(now)
            taken = self.queues.take(now)
            if isinstance(taken, Idle):
                if self.is_fed:
                    return self._rest(taken)
                if (idle := self._tail.wait(taken, now)) is None:
                    continue
                return self._idle_or_end(idle)
            if (work := self._request_for(taken, now)) is not None:
                return work

    def _rest(self, idle: Idle) -> Idle:
        """How long an engine that is fed has nothing to ask, unless it is fed."""
        if idle.until is None and self.queues.waiting and not self.queues.in_progress:
            # an engine with an end would stop here; this one must not keep them for months
            self.give_back(lambda key: True, STUCK)
            self._robots.stop_asking()
        if self.deadline is None or (idle.until is not None and idle.until <= self.deadline):
            return idle
        return Idle(self.deadline)

    def _idle_or_end(self, idle: Idle) -> Idle | None:
        if self.queues.in_progress:
            return idle
        if not self.queues.waiting and self._list_read:
            return None
        if idle.until is None:
            # pages held back with no request under way to set them free would wait for ever
            self.stop(STUCK)
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
        if self.stopped:
            self._refuse(url, datum, self.stopped, f"handed_back.{self.stopped}")
            return
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
        if self._open is not None:
            self.seen_urls.make_room(self._open)
        else:
            self.seen_urls.make_room(page.url for queue in self.queues for page in queue.pages)

    def forget(self, url: str) -> bool:
        """Lets one URL be fetched again that this engine has met, such as a redirect's target
        or one that is to be tried again. False where it waits or is under way, which must not
        be asked twice; of an engine that is not fed the caller knows that it is done."""
        if self._open is not None and url in self._open:
            return False
        self.seen_urls.forget(url)
        return True

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
                self._refuse(url, datum, reason, f"handed_back.{reason}")
                return
            url = admitted
        if not self.seen_urls.is_new(url):
            self._refuse(url, datum, ALREADY_FETCHED, ALREADY_FETCHED)
            return
        item = self.item_of(url, datum)
        if item is None:
            self._refuse(url, datum, "no_host", "no_host")
            if self._open is not None:
                self.seen_urls.forget(url)
            return
        self.enqueue(item)

    def _refuse(self, url: str, datum: CrawlDatum, reason: str, counter: str) -> None:
        """Does not take in a URL."""
        self.counters[counter] += 1
        if self._on_returned is not None:
            self._on_returned(FetchItem(url, "", "", "", datum), reason)

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
        if self._open is not None and item.purpose is Purpose.PAGE:
            self._open[item.url] = item
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
        elif answer.kind is FailureKind.WITHHELD:
            if not answer.sent:
                counters["requests"] -= 1
            counters["withheld"] += 1
            self._withdraw(item, answer.message or FailureKind.WITHHELD)
            return
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

    def give_back(self, is_lost: Callable[[str], bool], reason: str) -> None:
        """Returns unfetched what waits for the servers of these keys, which somebody else may ask
        from now on. Their pauses stay; requests under way end as they would (see `may_send`)."""
        for queue in [queue for queue in self.queues if is_lost(queue.key)]:
            for item in self.queues.drain(queue):
                self._withdraw(item, reason)

    def _withdraw(self, item: FetchItem, reason: str) -> None:
        """Gives back an item that nobody may ask for now; its host has done nothing."""
        if item.purpose is Purpose.ROBOTS:
            self._robots.withdraw(item, reason)
        else:
            self.return_unfetched([item], reason)

    # what servers are owed

    def pause_of(self, key: str, now: float) -> float:
        """How many seconds a server must not be asked; 0 where it may be."""
        until = max(self.queues.queue(key).ready_at, self.queues.closed_until(key))
        return max(0.0, until - now)

    def pauses(self, now: float) -> dict[str, ServerState]:
        """What whoever asks these servers next has to know of each, by key: how long it must
        not be asked, its failures in a row, the pause that its robots.txt asks for, and why
        and for how long it is given up."""
        states = {state.key: state for state in self.queues.server_states(now)}
        for key, state in states.items():
            closed_s = self.queues.closed_until(key) - now
            if closed_s > state.pause_s:
                states[key] = replace(state, pause_s=closed_s)
        return states

    def keep_pauses(self, states: Iterable[ServerState], now: float) -> None:
        """Owes servers what another engine did that asked them before; also while pages wait."""
        told = list(states)
        self.queues.keep_pauses([replace(each, closed_reason="") for each in told], now)
        for each in told:
            if each.closed_reason:
                queue, until = self.queues.queue(each.key), now + each.pause_s
                items = self.queues.drain(queue, each.closed_reason, until)
                hosts = {item.host for item in items}
                self.troubles.close(each.key, hosts, each.closed_reason, now, until)
                self.return_unfetched(items, each.closed_reason)

    def idle_queues(self, now: float) -> IdleQueues:
        """How many servers' queues have nothing to do."""
        return idle_queues(self.queues, now)

    def retire_idle(self, now: float, older_than_s: float) -> IdleQueues:
        """Drops queues that have had nothing to do for so long, and no pause to keep."""
        found = idle_queues(self.queues, now)
        return replace(found, retired=len(self.queues.forget_idle(now, older_than_s)))

    # the end

    def end_feed(self) -> None:
        """Ends an engine that is fed when it has done what it was given."""
        self.is_fed = False

    def stop(self, reason: str) -> None:
        """Takes nothing more; what waits and what is not yet read is returned unfetched."""
        self._has_crashed |= reason == CRASHED
        if self.stopped:
            return
        self.stopped, self.is_fed = reason, False
        for queue in list(self.queues):
            self.return_unfetched(self.queues.drain(queue, reason), reason)
        for url, datum in self._urls:
            self._refuse(url, datum, reason, f"handed_back.{reason}")
        self._list_read = True

    def finish(self) -> None:
        """Brings out what is left when the driver has ended: redirects' targets whose requests
        hang, and hosts that failed; gives back what an engine that is fed has no answer for."""
        self.follower.leave_open_targets()
        for item in list((self._open or {}).values()):
            self._tell_returned(item, self.stopped or HUNG)
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
            if self._on_returned is not None or self._open is not None:
                self._tell_returned(item, reason)
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

    def _tell_returned(self, item: FetchItem, reason: str) -> None:
        if self._open is not None:
            self._open.pop(item.url, None)
            self.seen_urls.forget(item.url)
        if self._on_returned is not None:
            self._on_returned(item, reason)

    def emit(self, record: FetchRecord) -> None:
        self.counters["records"] += 1
        self.output.add(record)
        if self._open is not None and record.datum.status is not Status.LINKED:
            self._open.pop(record.url, None)
        if self.follower.open_targets:
            self.follower.open_targets.pop(record.url, None)


def _guarded(work: ReadyRequest, may_send: Callable[[FetchItem], bool | str]) -> ReadyRequest:
    """The request, which asks the caller at the last moment whether it may be sent."""
    why_withheld = partial(_why_withheld, may_send, work.item)
    return ReadyRequest(work.item, quick_replace(work.request, why_withheld=why_withheld))


def _why_withheld(may_send: Callable[[FetchItem], bool | str], item: FetchItem) -> str:
    verdict = may_send(item)
    return "" if verdict is True else verdict or FailureKind.WITHHELD.value
