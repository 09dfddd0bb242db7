"""The engine's part that knows robots.txt: who asks for it, who waits for it, and what its
answer means.

A page whose authority's rules are not known waits at the head of its queue, whose pages are
held back; the robots.txt is a request like any other, in its own server's queue.
"""

from __future__ import annotations

from dataclasses import replace

from crawl.fetcher.engine.core import EngineCore
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.robots_cache import RobotsCache
from crawl.fetcher.values.item import FetchItem, Purpose
from crawl.fetcher.values.outcome import outcome_of, reply_of
from crawl.fetcher.values.record import content_of, record_of
from crawl.fetcher.values.settings import is_at_or_below
from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.robots.answer import Deferred, rules_from_answer
from crawl.robots.rules import Basis, RobotRules, allow_all
from crawl.robots.stored import KeepTimes, seconds_left, stored_answer
from crawl.rules.redirect import redirect_target
from crawl.urls.parse import host_of

_REDIRECTS = (301, 302, 303, 307, 308)
_NO_SUCH_HOST = (FailureKind.UNKNOWN_HOST, FailureKind.ADDRESS_REFUSED, FailureKind.NOT_SUPPORTED)
ROBOTS_ON_OTHER_PART = "robots_elsewhere"
"""Why pages are returned whose robots.txt is on a server of another part."""
_NO_ROBOTS = allow_all(Basis.EXEMPT)
"""The rules of schemes that have no robots.txt, and of hosts that need not be asked."""


class RobotsHandler:
    """Has pages wait for the rules of their authority, and asks for them."""

    def __init__(self, engine: EngineCore) -> None:
        self._engine = engine
        self._settings = settings = engine.settings
        self._politeness = engine.politeness
        self._hooks = engine.hooks
        self._clock = engine.hooks.clock
        self._output = engine.output
        self._deadline = engine.deadline
        self._cross_part_redirects: dict[str, str] = {}
        """Where robots.txt files redirect to that are on servers of other parts, by authority."""
        self._keep_times = KeepTimes(
            min(settings.robots_expire_s, settings.robots_keep_s), settings.robots_defer_s
        )
        self._known_failures: dict[str, tuple[Deferred, float]] = {}
        """By authority: why its rules could not be had by another engine, and until when it is
        left alone for that."""
        self._cache = RobotsCache(
            settings.robots_expire_s,
            settings.leave_alone_s,
            failure_expire_s=settings.robots_defer_s,
            max_authorities=settings.robots_cache_size,
            waiting_authorities=self._waiting_authorities,
        )

    def rules_of(self, item: FetchItem, now: float) -> RobotRules | None:
        """The rules that a page is under; None while they are not known."""
        # by the authority, which is spelt as the standard spells it whatever the URL looks like
        if not item.authority.startswith(("http://", "https://")):
            return _NO_ROBOTS
        exempt = self._settings.robots_exempt
        if exempt and is_at_or_below(item.host, exempt):
            return _NO_ROBOTS
        return self._cache.rules_of(item.authority, now) or self._recall(item, now)

    def _recall(self, item: FetchItem, now: float) -> RobotRules | None:
        """Takes up what another engine has learnt of the authority, if that still counts."""
        authority = item.authority
        recall = self._hooks.known_robots
        if recall is None or self._cache.asker_of(authority) is not None:
            return None
        stored, now_ms = recall(authority), self._clock.now_ms()
        if stored is None or (left_s := seconds_left(stored, now_ms)) <= 0:
            return None
        verdict = rules_from_answer(stored.as_answer(), self._settings.robots, now_ms)
        if isinstance(verdict, Deferred):
            self._known_failures[authority] = verdict, self._clock.monotonic() + left_s
            return None
        self._engine.counters["robots_known"] += 1
        if verdict.crawl_delay_s is not None:
            self._slow_down(self._engine.queues.queue(item.key), verdict.crawl_delay_s)
        self._cache.recall(authority, verdict, now, left_s)
        return verdict

    def wait_for_rules(self, item: FetchItem) -> None:
        """Puts the page back to wait for its authority's rules, and asks for them; returns it
        unfetched where they cannot be had."""
        # as of this moment: a driver of one URL at a time is ahead of it, and would wait
        refusal = self._cache.refusal(item.authority, self._clock.monotonic())
        if refusal:
            self._engine.return_unfetched([item], refusal)
            return
        asker = self._cache.asker_of(item.authority)
        if asker is not None:
            # asked for by another queue: the host was at another address then
            self._engine.enqueue(replace(item, key=asker), first=True)
            return
        self._engine.enqueue(item, first=True)
        known_failure = self._known_failures.pop(item.authority, None)
        if known_failure is not None:
            self._wait_as_others(item, *known_failure)
            return
        asked = self._begin_asking(item)
        target = self._hooks.robots_redirect_of(item.authority)
        redirect = Response(asked.url, 302, (("location", target),))
        if not target or not self._follow(asked, redirect):
            self._engine.enqueue(asked)

    def set_pace(self, item: FetchItem) -> None:
        """Gives the queue the pace that known rules of the item's authority ask for: the queue
        may have been forgotten since they were learnt."""
        asked_for = self._cache.delays.get(item.authority)
        if asked_for is not None:
            self._slow_down(self._engine.queues.queue(item.key), asked_for)

    def refusal(self, item: FetchItem) -> str:
        """Why the page cannot be asked for: its rules could not be had; else empty."""
        if item.purpose is not Purpose.PAGE or not self._cache.refuses_any:
            return ""
        return self._cache.refusal(item.authority, self._clock.monotonic())

    def is_deferred(self, authority: str) -> bool:
        """Whether its rules could not be had, and are asked for again later."""
        return self._cache.is_failing(authority)

    def cross_part_authorities(self) -> dict[str, str]:
        """The authorities whose robots.txt is on a server of another part, and its URL there."""
        refused = self._cache.refused_for(ROBOTS_ON_OTHER_PART)
        return {each: self._cross_part_redirects.get(each, "") for each in refused}

    def give_up(
        self, authority: str, reason: str = "robots_deferred", pause_s: float = 0.0, reply: str = ""
    ) -> None:
        """Stops asking for these rules for now: their pages must not wait for them, and those
        of other hosts in the queue go on."""
        origin = self._origin_queue(authority)
        now = self._clock.monotonic()
        if reason != ROBOTS_ON_OTHER_PART:
            base_s = self._settings.robots_defer_s
            host = _host_of(authority)
            self._engine.troubles.give_up(host, reason, now, now + pause_s, base_s, reply)
        self._cache.refuse(authority, reason, now, pause_s)
        origin.awaited_rules -= 1
        for page in self._engine.queues.drain(origin):
            if page.purpose is Purpose.PAGE and page.authority == authority:
                self._engine.return_unfetched([page], reason)
            else:
                self._engine.enqueue(page)

    def withdraw(self, item: FetchItem, reason: str) -> None:
        """Gives back the pages that wait for rules whose request was taken back. Nothing is held
        against the host: whoever brings them again has its rules asked for anew."""
        if self._engine.stopped:
            return  # nobody waits for them any more
        authority = item.robots_for
        origin = self._origin_queue(authority)
        self._cache.give_up(authority)
        origin.awaited_rules -= 1
        for page in self._engine.queues.drain(origin):
            if page.purpose is Purpose.PAGE and page.authority == authority:
                self._engine.return_unfetched([page], reason)
            else:
                self._engine.enqueue(page)

    def stop_asking(self) -> None:
        """Has rules asked for anew that nobody asks for, though pages wait for them."""
        self._cache.stop_asking()
        for queue in self._engine.queues:
            queue.awaited_rules = 0

    def handle(self, item: FetchItem, answer: Response | Failure, now: float) -> None:
        """Takes in the answer to a request for a robots.txt."""
        self._engine.counters["robots_requests"] += 1
        if self._settings.store_robots and isinstance(answer, Response):
            self._output.add_archived(content_of(answer, self._clock.now_ms()))
        if self._engine.stopped:
            return  # nobody waits for them any more
        origin = self._origin_queue(item.robots_for)
        if self._follow(item, answer):
            return
        if isinstance(answer, Failure) and answer.kind in _NO_SUCH_HOST:
            self._give_up_host(item, origin, answer)
            return
        now_ms = self._clock.now_ms()
        verdict = rules_from_answer(answer, self._settings.robots, now_ms)
        if self._settings.robots_keep_s > 0:
            times = self._keep_times
            self._output.add_robots(stored_answer(item.robots_for, answer, verdict, now_ms, times))
        if isinstance(verdict, Deferred):
            self._engine.counters[verdict.reason] += 1
            self._defer(item, origin, verdict, now)
            return
        self._engine.troubles.answered(_host_of(item.robots_for))
        self._slow_down_target(item, verdict, now)
        origin.awaited_rules -= 1
        if verdict.crawl_delay_s is not None:
            is_kept = self._slow_down(origin, verdict.crawl_delay_s)
            if is_kept and item.key == origin.key:
                origin.wait_until(now + origin.pace.delay_s)
        self._cache.learn(item.robots_for, verdict, now, host_ready_at=origin.ready_at)
        self._engine.queues.offer(origin)

    def _waiting_authorities(self) -> set[str]:
        """The authorities whose pages wait in a queue."""
        return {page.authority for queue in self._engine.queues for page in queue.pages}

    def _begin_asking(self, item: FetchItem) -> FetchItem:
        """Holds the queue's pages back until the authority's rules are known; returns what is to
        be asked for."""
        self._cache.ask(item.authority, item.key)
        self._engine.queues.queue(item.key).awaited_rules += 1
        return FetchItem(
            f"{item.authority}/robots.txt",
            *(item.host, item.authority, item.key, item.datum),
            purpose=Purpose.ROBOTS,
            robots_for=item.authority,
        )

    def _wait_as_others(self, item: FetchItem, verdict: Deferred, until: float) -> None:
        """Leaves a host alone whose robots.txt failed another engine, as that one would have."""
        self._engine.counters["robots_known_to_fail"] += 1
        now = self._clock.monotonic()
        asked = self._begin_asking(item)
        origin = self._origin_queue(item.authority)
        self._defer(asked, origin, verdict, now, pause_s=max(0.0, until - now))

    def _slow_down_target(self, item: FetchItem, rules: RobotRules, now: float) -> None:
        """Keeps to the Crawl-delay of another host whose own robots.txt a redirect led to."""
        is_its_own = item.url == f"{item.authority}/robots.txt"
        if item.came_by and is_its_own and rules.crawl_delay_s is not None:
            queue = self._engine.queues.queue(item.key)
            if self._slow_down(queue, rules.crawl_delay_s):
                queue.wait_until(now + queue.pace.delay_s)

    def _slow_down(self, queue: HostQueue, crawl_delay_s: float) -> bool:
        """Keeps to a Crawl-delay; False where it is too long to be kept."""
        pace = self._politeness.with_crawl_delay(queue.pace, crawl_delay_s)
        if pace is not None:
            queue.slow_down(pace, max(crawl_delay_s, self._politeness.min_crawl_delay_s))
        return pace is not None

    def _origin_queue(self, authority: str) -> HostQueue:
        """The queue whose pages wait for these rules."""
        return self._engine.queues.queue(self._cache.asker_of(authority) or "")

    def _give_up_host(self, item: FetchItem, origin: HostQueue, answer: Failure) -> None:
        """Records all pages of a host that does not exist, or must not be asked, as failed in
        the same way; no more requests are tried."""
        outcome = outcome_of(answer)
        if answer.kind is FailureKind.UNKNOWN_HOST:
            now, base_s = self._clock.monotonic(), self._settings.robots_defer_s
            host, reply = _host_of(item.robots_for), reply_of(answer)
            self._engine.troubles.give_up(host, answer.kind.value, now, now, base_s, reply)
        self._cache.give_up(item.robots_for)
        origin.awaited_rules -= 1
        now_ms = self._clock.now_ms()
        for page in self._engine.queues.drain(origin):
            if page.purpose is Purpose.PAGE and page.authority == item.robots_for:
                self._engine.counters[outcome.label] += 1
                self._engine.counters[f"answers.{answer.kind}"] += 1
                self._engine.emit(record_of(page, outcome, now_ms, answer))
            else:
                self._engine.enqueue(page)

    def _follow(self, item: FetchItem, answer: Response | Failure) -> bool:
        """Asks for the robots.txt that this one redirects to, in that server's queue; says
        whether there is one."""
        if not isinstance(answer, Response) or answer.code not in _REDIRECTS:
            return False
        target = redirect_target(item.url, answer.header("location"))
        is_too_many = len(item.came_by) >= self._settings.robots_redirect_max
        if is_too_many or target is None or not target.startswith(("http://", "https://")):
            return False
        hop = self._engine.item_of(target, item.datum)
        if hop is None:
            return False
        if self._hooks.is_other_parts_server(hop.key):
            # two tasks that ask one server know nothing of each other's pauses, and without
            # the file nobody knows what is allowed: the host is fetched when all others are done
            self._engine.counters["robots_elsewhere"] += 1
            self._cross_part_redirects[item.robots_for] = target
            self.give_up(item.robots_for, ROBOTS_ON_OTHER_PART)
            return True
        if hop.authority not in self._cache.delays:
            self._recall(hop, self._clock.monotonic())  # it may ask for a pause of its own
        came_by = (*item.came_by, item.url)
        self._engine.enqueue(
            replace(hop, purpose=Purpose.ROBOTS, robots_for=item.robots_for, came_by=came_by)
        )
        return True

    def _defer(
        self,
        item: FetchItem,
        origin: HostQueue,
        verdict: Deferred,
        now: float,
        *,
        pause_s: float | None = None,
    ) -> None:
        """Asks again later for rules that cannot be had now, or leaves the host for this run;
        `pause_s` is what is left of the pause where another engine has asked."""
        authority, base_s = item.robots_for, self._settings.robots_defer_s
        tries = self._cache.failed(authority)
        asked_for = verdict.retry_after_s or 0.0
        pause = max(asked_for, base_s) if pause_s is None else pause_s
        late = self._deadline is not None and now + pause >= self._deadline
        keeps_others = any(page.authority != authority for page in origin.pages)
        if tries > self._settings.robots_defer_retries or late or keeps_others:
            origin.wait_until(now + asked_for)
            self.give_up(authority, pause_s=asked_for, reply=verdict.reply)
            return
        origin.wait_until(now + pause, "robots.txt unavailable")
        host, until = _host_of(authority), now + pause
        self._engine.troubles.pause(host, "robots_deferred", now, until, base_s, verdict.reply)
        url = f"{authority}/robots.txt"
        retry = replace(item, url=url, authority=authority, host=host, key=origin.key, came_by=())
        self._engine.enqueue(retry, first=True)


def _host_of(authority: str) -> str:
    return host_of(f"{authority}/") or ""
