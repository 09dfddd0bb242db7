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

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.fetcher.item import FetchItem, Purpose
from crawl.fetcher.outcome import ROBOTS_DENIED, Blame, outcome_of, reason_of
from crawl.fetcher.politeness import Politeness
from crawl.fetcher.queue import HostQueue
from crawl.fetcher.queues import HostQueues, Nothing
from crawl.fetcher.record import ETAG_KEY, FetchRecord, inherited, linked_record, record_of
from crawl.fetcher.robots_cache import RobotsCache
from crawl.fetcher.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.model.datum import FETCH_DELAY_KEY, CrawlDatum
from crawl.robots.answer import Deferred, rules_from
from crawl.robots.read import MAX_BYTES
from crawl.robots.rules import Basis, RobotRules, allow_all
from crawl.robots.waits import retry_after_seconds
from crawl.rules.redirect import representative
from crawl.urls.parse import host_of, parse, resolve

_REDIRECTS = (301, 302, 303, 307, 308)
_NOWHERE = (FailureKind.UNKNOWN_HOST, FailureKind.ADDRESS_REFUSED, FailureKind.NOT_SUPPORTED)
_NO_ROBOTS = allow_all(Basis.EXEMPT)
"""Of schemes that have no robots.txt."""
_FORGET_ABOVE = 1000
"""Queues that may stand about idle before they are looked through."""


@dataclass(frozen=True, slots=True)
class Work:
    """A request that may be sent now."""

    item: FetchItem
    request: Request


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the engine asks of the rest of the crawler."""

    key_of: Callable[[str], str]
    """A host's queue: itself, its domain or its address."""
    emit: Callable[[FetchRecord], None]
    clock: Clock
    chance: random.Random
    accepted: Callable[[str], tuple[str | None, str]] = lambda url: (url, "")
    """A redirect's target in normal form, or None and why it is dropped."""
    owns: Callable[[str], bool] = lambda key: True
    """Whether a server is this engine's to ask: another one may have it on its list, and
    neither would know of the other's requests."""
    address_of: Callable[[str], str | None] | None = None
    """A host's address, where servers at one address must keep apart."""


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
        self._robots = RobotsCache(settings.robots_expire_s)
        self._seen: set[int] = set()
        self._forget_above = _FORGET_ABOVE
        self.queues = HostQueues(politeness)
        self.counters = Counters()
        self.stopped = ""
        """Why nothing more is taken; empty while the fetch goes on."""

    # what to ask next

    def next_work(self, now: float) -> Work | Nothing | None:
        """The next request; until when there is none; None when all is done."""
        if self._deadline is not None and now >= self._deadline:
            self.stop("time_limit")
        while True:
            self._feed(now)
            taken = self.queues.take(now)
            if isinstance(taken, Nothing):
                return self._idle(taken)
            work = self._work(taken, now)
            if work is not None:
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
        late = self._deadline is not None and nothing.until > self._deadline
        if late:
            # all that is left would have to wait for longer than there is time
            self.stop("time_limit")
            return None
        return nothing

    def _work(self, item: FetchItem, now: float) -> Work | None:
        """The request for an item that was taken; None where it is settled without one."""
        if item.purpose is Purpose.ROBOTS:
            return Work(item, Request(item.url, max_bytes=MAX_BYTES))
        rules = self._rules_of(item, now)
        if rules is None:
            self.queues.release(item, now, asked=False)
            if self._robots.is_refused(item.authority):
                self._hand_back([item], "robots_deferred")
            else:
                self._await_rules(item)
            return None
        pace = self.queues.queue(item.key).pace
        if not rules.allows(item.url):
            self._emit(record_of(item, ROBOTS_DENIED, self._around.clock.now_ms(), message=""))
            self.counters["robots_denied"] += 1
            self.queues.release(item, now, asked=False)
            return None
        delay = rules.crawl_delay_s
        if delay is not None and self._politeness.with_crawl_delay(pace, delay) is None:
            self._hand_back([item], "crawl_delay_too_long")
            self.queues.release(item, now, asked=False)
            return None
        request = Request(
            item.url,
            modified_since_ms=item.datum.modified_time,
            etag=item.datum.metadata.get(ETAG_KEY, ""),
        )
        return Work(item, request)

    def _is_exempt(self, host: str) -> bool:
        exempt = self._settings.robots_exempt
        while exempt and host:
            if host in exempt:
                return True
            host = host.partition(".")[2]
        return False

    def _rules_of(self, item: FetchItem, now: float) -> RobotRules | None:
        if not item.url.startswith(("http://", "https://")) or self._is_exempt(item.host):
            return _NO_ROBOTS
        return self._robots.rules_of(item.authority, now)

    def _feed(self, now: float) -> None:
        if len(self.queues) > self._forget_above:
            self.queues.forget_idle(now)
            self._forget_above = 2 * len(self.queues) + _FORGET_ABOVE
        room = self._settings.threads * self._settings.depth
        while not self._fed and not self.stopped and self.queues.waiting < room:
            entry = next(self._urls, None)
            if entry is None:
                self._fed = True
                return
            url, datum = entry
            self._add(url, datum)

    def _add(self, url: str, datum: CrawlDatum) -> None:
        number = hash(url)
        if number in self._seen:
            self.counters["already_fetched_here"] += 1
            return
        self._seen.add(number)
        item = self._item(url, datum)
        if item is None:
            self.counters["no_host"] += 1
            return
        self._line_up(item)

    def _item(self, url: str, datum: CrawlDatum) -> FetchItem | None:
        parsed = parse(url)
        if parsed is None or not parsed.host:
            return None
        port = f":{parsed.port}" if parsed.port is not None else ""
        key = self._around.key_of(parsed.host)
        if self._around.address_of is not None:
            address = self._around.address_of(parsed.host)
            if address is not None:
                self.queues.set_address(parsed.host, address)
        item = FetchItem(url, parsed.host, f"{parsed.scheme}://{parsed.host}{port}", key, datum)
        self._pace(item)
        return item

    def _pace(self, item: FetchItem) -> None:
        """The queue's pace as the item and the rules of its authority ask for it."""
        asked_for = self._robots.crawl_delay_of(item.authority)
        if asked_for is not None:
            # known already, but the queue may have been forgotten since
            self._slow_down(self.queues.queue(item.key), asked_for)
        own_delay = item.datum.metadata.get(FETCH_DELAY_KEY, "")
        if own_delay.isascii() and own_delay.isdigit():
            queue = self.queues.queue(item.key)
            queue.pace = replace(queue.pace, delay_s=max(int(own_delay) / 1000, queue.floor_s))

    def _slow_down(self, queue: HostQueue, crawl_delay_s: float) -> bool:
        """Keeps to a Crawl-delay; False where it is too long to be kept."""
        pace = self._politeness.with_crawl_delay(queue.pace, crawl_delay_s)
        if pace is not None:
            queue.slow_down(pace, max(crawl_delay_s, self._politeness.min_crawl_delay_s))
        return pace is not None

    def _line_up(self, item: FetchItem, *, first: bool = False) -> None:
        refused = self.queues.put(item, first=first)
        if refused:
            self._hand_back([item], refused)

    # what an answer means

    def handle(self, work: Work, answer: Response | Failure, now: float) -> None:
        """Takes in the answer to a request; the server's pause begins at `now`."""
        item = work.item
        queue = self.queues.release(item, now, asked=answer.sent > 0)
        self.counters["requests"] += 1
        if isinstance(answer, Response):
            self.counters["bytes"] += len(answer.body)
        if item.purpose is Purpose.ROBOTS:
            self._handle_robots(item, answer, now)
        else:
            self._handle_page(item, queue, answer, now)

    def _handle_page(
        self, item: FetchItem, queue: HostQueue, answer: Response | Failure, now: float
    ) -> None:
        outcome = outcome_of(answer)
        now_ms = self._around.clock.now_ms()
        self.counters[outcome.status.label] += 1
        self.counters[f"answers.{reason_of(answer)}"] += 1
        record = record_of(
            item, outcome, now_ms, answer, store_content=self._settings.store_content
        )
        self._emit(record)
        if isinstance(answer, Response) and 300 <= answer.code < 400 and answer.code != 304:
            temporary = outcome.protocol_status.label == "temp_moved"
            self._redirect(item, answer, temporary=temporary)
        self._blame(queue, outcome.blame, answer, now)

    def _blame(
        self, queue: HostQueue, blame: Blame, answer: Response | Failure, now: float
    ) -> None:
        if blame is Blame.NONE:
            queue.exceptions = 0
            return
        queue.exceptions += 1
        limit = self._politeness.max_exceptions
        if 0 <= limit <= queue.exceptions:
            self._close(queue, "too_many_failures")
            return
        pause = self._politeness.back_off(queue.exceptions, self._around.chance.random())
        if blame is Blame.PAUSE and isinstance(answer, Response):
            asked_for = retry_after_seconds(
                answer.header("retry-after"), self._around.clock.now_ms()
            )
            pause = pause if asked_for is None else max(asked_for, queue.pace.delay_s)
        self._pause(queue, now + pause)

    def _pause(self, queue: HostQueue, until: float) -> None:
        queue.wait_until(until)
        if self._deadline is not None and until >= self._deadline:
            self._close(queue, "pause_beyond_time_limit")
        else:
            self.queues.offer(queue)

    def _close(self, queue: HostQueue, reason: str) -> None:
        self.counters["queues_closed"] += 1
        self._hand_back(self.queues.drain(queue, reason), reason)

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
        shown = representative(item.representative or item.url, accepted, temporary=temporary)
        host = host_of(accepted) or ""
        is_too_many = len(item.came_by) >= self._settings.redirect_max
        if not is_too_many and not self.stopped and self._around.owns(self._around.key_of(host)):
            self._follow(item, accepted, shown)
        elif is_too_many and self._settings.redirect_max and self._settings.redirect_exceeded_skip:
            self.counters["redirects_dropped.too_many"] += 1
        else:
            self.counters["redirects_left_for_later"] += 1
            self._emit(linked_record(accepted, host, item, shown))

    def _follow(self, item: FetchItem, target: str, shown: str) -> None:
        """The target waits in its own server's queue, under its own rules."""
        if hash(target) in self._seen:
            self.counters["already_fetched_here"] += 1
            return
        self._seen.add(hash(target))
        metadata = inherited(item.datum.metadata)  # the source's ETag is not the target's
        datum = replace(item.datum, modified_time=0, signature=None, metadata=metadata)
        found = self._item(target, datum)
        if found is None:
            self.counters["redirects_dropped.no_host"] += 1
            return
        self.counters["redirects_followed"] += 1
        self._line_up(replace(found, came_by=(*item.came_by, item.url), representative=shown))

    # robots.txt

    def _await_rules(self, item: FetchItem) -> None:
        """Puts the page back to wait for its authority's rules, and asks for them."""
        asker = self._robots.asker_of(item.authority)
        if asker is not None:
            # asked for by another queue: the host was at another address then
            self._line_up(replace(item, key=asker), first=True)
            return
        self._line_up(item, first=True)
        self._ask_robots(item)

    def _ask_robots(self, item: FetchItem) -> None:
        """Holds the queue's pages back until the authority's rules are known."""
        self._robots.ask(item.authority, item.key)
        self.queues.queue(item.key).held += 1
        self._line_up(
            FetchItem(
                url=f"{item.authority}/robots.txt",
                host=item.host,
                authority=item.authority,
                key=item.key,
                datum=item.datum,
                purpose=Purpose.ROBOTS,
                robots_for=item.authority,
            )
        )

    def _handle_robots(self, item: FetchItem, answer: Response | Failure, now: float) -> None:
        self.counters["robots_requests"] += 1
        if self.stopped:
            return  # nobody waits for them any more
        origin = self._origin_queue(item.robots_for)
        if self._follow_robots(item, answer):
            return
        if isinstance(answer, Failure) and answer.kind in _NOWHERE:
            self._nowhere(item, origin, answer)
            return
        verdict = rules_from(answer, self._settings.robots, self._around.clock.now_ms())
        if isinstance(verdict, Deferred):
            self.counters[verdict.reason] += 1
            self._defer(item, origin, verdict, now)
            return
        self._robots.learn(item.robots_for, verdict, now)
        origin.held -= 1
        if verdict.crawl_delay_s is not None:
            kept = self._slow_down(origin, verdict.crawl_delay_s)
            if kept and item.key == origin.key:
                origin.wait_until(now + origin.pace.delay_s)
        self.queues.offer(origin)

    def _nowhere(self, item: FetchItem, origin: HostQueue, answer: Failure) -> None:
        """There is no such host, or none that may be asked: its pages share that fate, and
        no more requests are tried."""
        outcome = outcome_of(answer)
        self._robots.give_up(item.robots_for)
        origin.held -= 1
        now_ms = self._around.clock.now_ms()
        for page in self.queues.drain(origin):
            if page.purpose is Purpose.PAGE and page.authority == item.robots_for:
                self.counters[outcome.status.label] += 1
                self.counters[f"answers.{answer.kind}"] += 1
                self._emit(record_of(page, outcome, now_ms, answer))
            else:
                self._line_up(page)

    def _origin_queue(self, authority: str) -> HostQueue:
        """The queue whose pages wait for these rules."""
        return self.queues.queue(self._robots.asker_of(authority) or "")

    def _follow_robots(self, item: FetchItem, answer: Response | Failure) -> bool:
        """Asks for the robots.txt that this one redirects to, in that server's queue; says
        whether there is one to ask for."""
        if not isinstance(answer, Response) or answer.code not in _REDIRECTS:
            return False
        target = resolve(item.url, answer.header("location"))
        hops = len(item.came_by) + 1
        if target is None or hops > self._settings.robots_redirect_max:
            return False
        if not target.startswith(("http://", "https://")):
            return False
        found = self._item(target, item.datum)
        if found is None:
            return False
        self._line_up(
            replace(
                found,
                purpose=Purpose.ROBOTS,
                robots_for=item.robots_for,
                came_by=(*item.came_by, item.url),
            )
        )
        return True

    def _defer(self, item: FetchItem, origin: HostQueue, verdict: Deferred, now: float) -> None:
        """The rules cannot be had now: ask again later, or leave the host for this run."""
        tries = self._robots.failed(item.robots_for)
        pause = max(verdict.retry_after_s or 0.0, self._settings.robots_defer_s)
        late = self._deadline is not None and now + pause >= self._deadline
        keeps_others = any(page.authority != item.robots_for for page in origin.pages)
        if tries > self._settings.robots_defer_retries or late or keeps_others:
            origin.wait_until(now + (verdict.retry_after_s or 0.0))
            self._give_up_rules(item.robots_for)
            return
        origin.wait_until(now + pause)
        again = replace(
            item,
            url=f"{item.robots_for}/robots.txt",
            authority=item.robots_for,
            host=host_of(f"{item.robots_for}/") or "",
            key=origin.key,
            came_by=(),
        )
        self._line_up(again, first=True)

    def _give_up_rules(self, authority: str) -> None:
        """Nobody will ask for these rules any more: their pages must not wait for them, and
        those of other hosts in the queue go on."""
        origin = self._origin_queue(authority)
        self._robots.refuse(authority)
        origin.held -= 1
        for page in self.queues.drain(origin):
            if page.purpose is Purpose.PAGE and page.authority == authority:
                self._hand_back([page], "robots_deferred")
            else:
                self._line_up(page)

    # the end

    def stop(self, reason: str) -> None:
        """Takes nothing more; what waits and what is not yet fed is handed back."""
        if self.stopped:
            return
        self.stopped = reason
        for queue in list(self.queues):
            self._hand_back(self.queues.drain(queue, reason), reason)
        for _ in self._urls:
            self.counters[f"handed_back.{reason}"] += 1
        self._fed = True

    def _hand_back(self, items: list[FetchItem], reason: str) -> None:
        """URLs of the list that are not served stay due in the CrawlDb; they are counted, not
        recorded. The CrawlDb may not know a redirect's target: it is left for later."""
        pages = 0
        for item in items:
            if item.purpose is not Purpose.PAGE:
                continue
            pages += 1
            if item.came_by:
                shown = item.representative or item.url
                self._emit(linked_record(item.url, item.host, item, shown))
            else:
                self.counters[f"handed_back.{reason}"] += 1
        if pages < len(items) and not self.stopped:
            for item in items:
                if item.purpose is Purpose.ROBOTS:
                    self._give_up_rules(item.robots_for)

    def _emit(self, record: FetchRecord) -> None:
        self.counters["records"] += 1
        self._around.emit(record)
