"""What every authority's robots.txt says, for as long as it may be believed.

An authority is unknown, being asked, or known. No page of one that is not known is fetched:
the engine asks for its robots.txt first, once. What is known is bounded in time (a
day at the most, RFC 9309 section 2.4) and in memory, for an engine that lives for months:
of those that no page waits for, the ones that were not used for longest are forgotten.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from crawl.robots.rules import Basis, RobotRules
from crawl.robots.stored import MAX_AGE_S

MAX_RULES_BYTES = 128 << 20
"""All rules together. A single file may have half a MB of them (`robots.read.MAX_BYTES`)."""
_FIRST_USE_S = 3600.0
"""How long after a host may be asked its new rules are good for a first page, however short
they are believed: they would be asked for again and again, and no page ever."""


@dataclass(slots=True)
class _Entry:
    rules: RobotRules
    expires_at: float
    first_use_until: float
    """Until then a first page may be fetched under them, though they have expired."""
    is_served: bool = False
    """Whether a page was fetched, or refused, under them."""
    is_expired: bool = False
    """They are kept for their Crawl-delay alone, until they are known anew."""

    def is_old(self, now: float) -> bool:
        """Whether no page may be fetched under them any more."""
        if self.is_expired:
            return True
        return self.expires_at <= now and (self.is_served or self.first_use_until <= now)


class RobotsCache:
    """Rules by authority (`scheme://host:port`)."""

    def __init__(
        self,
        expire_s: float,
        leave_alone_s: float = math.inf,
        *,
        failure_expire_s: float = math.inf,
        max_authorities: int = 500_000,
        max_bytes: int = MAX_RULES_BYTES,
        waiting_authorities: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        """Rules are believed for `expire_s`; those that rest on a server's failure for
        `failure_expire_s`, if that is shorter. `waiting_authorities` returns those whose pages
        wait to be fetched: they are never forgotten."""
        self._expire_s = min(expire_s, MAX_AGE_S)
        self._failure_expire_s = min(failure_expire_s, self._expire_s)
        self._leave_alone_s = leave_alone_s
        self._max_authorities = max_authorities
        self._max_bytes = max_bytes
        self._waiting_authorities = waiting_authorities
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        """The one that was not used for longest first."""
        self._bytes = 0
        self._asked: dict[str, str] = {}
        self._failures: dict[str, int] = {}
        """By authority that is being asked."""
        self._refused: dict[str, tuple[str, float]] = {}
        self._shrink_above = max_authorities
        self._shrink_bytes_above = max_bytes
        self._shrink_refused_above = max_authorities
        self.delays: dict[str, float] = {}
        """The pauses in seconds that rules ask for; an old one counts until the rules are
        known anew, or forgotten."""

    def __len__(self) -> int:
        return len(self._entries)

    def rules_of(self, authority: str, now: float) -> RobotRules | None:
        """Returns the rules; None where they are unknown or too old."""
        entry = self._entries.get(authority)
        if entry is None or entry.is_expired:
            return None
        if entry.expires_at <= now and entry.is_old(now):
            entry.is_expired = True
            return None
        entry.is_served = True
        self._entries.move_to_end(authority)
        return entry.rules

    def asker_of(self, authority: str) -> str | None:
        """The key of the queue whose pages wait for the rules; None where none do."""
        return self._asked.get(authority)

    def ask(self, authority: str, key: str) -> None:
        self._asked[authority] = key

    def learn(
        self, authority: str, rules: RobotRules, now: float, host_ready_at: float = 0.0
    ) -> None:
        """Takes in new rules; `host_ready_at` is when the host may first be asked for a page."""
        self._asked.pop(authority, None)
        self._failures.pop(authority, None)
        self._forget(authority)
        is_failure = rules.basis is Basis.SERVER_ERROR
        expires_at = now + (self._failure_expire_s if is_failure else self._expire_s)
        first_use_until = max(now, host_ready_at) + _FIRST_USE_S
        self._entries[authority] = _Entry(rules, expires_at, first_use_until)
        self._bytes += _size(rules)
        if rules.crawl_delay_s is not None:
            self.delays[authority] = rules.crawl_delay_s
        if len(self._entries) > self._shrink_above or self._bytes > self._shrink_bytes_above:
            self._shrink(now)

    def recall(self, authority: str, rules: RobotRules, now: float, seconds: float) -> None:
        """Takes in rules that another engine has learnt, and that count for so many seconds."""
        self.learn(authority, rules, now)
        entry = self._entries[authority]
        entry.expires_at = min(entry.expires_at, now + seconds)
        entry.first_use_until = now

    def failed(self, authority: str) -> int:
        """Counts another failed request for its robots.txt; returns how many there were."""
        self._failures[authority] = self._failures.get(authority, 0) + 1
        return self._failures[authority]

    def is_failing(self, authority: str) -> bool:
        """Whether all requests so far have failed."""
        return authority in self._failures

    def refuse(self, authority: str, reason: str, now: float, pause_s: float = 0.0) -> None:
        """Leaves an authority alone whose rules could not be had, for `pause_s` at the least."""
        self.give_up(authority)
        self._refused[authority] = reason, now + max(pause_s, self._leave_alone_s)
        if len(self._refused) > self._shrink_refused_above:
            self._shrink_refused(now)

    @property
    def refuses_any(self) -> bool:
        return bool(self._refused)

    def refusal(self, authority: str, now: float) -> str:
        """Why it is left alone; empty where it is not, or no longer."""
        reason, until = self._refused.get(authority, ("", 0.0))
        if reason and until <= now:
            del self._refused[authority]
            return ""
        return reason

    def refused_for(self, reason: str) -> list[str]:
        """The authorities that are left alone for that reason."""
        return [authority for authority, (why, _) in self._refused.items() if why == reason]

    def give_up(self, authority: str) -> None:
        self._asked.pop(authority, None)
        self._failures.pop(authority, None)

    def stop_asking(self) -> None:
        """Takes nothing for asked any more, where no request for rules is under way or waits."""
        self._asked.clear()

    def _forget(self, authority: str) -> None:
        entry = self._entries.pop(authority, None)
        if entry is not None:
            self._bytes -= _size(entry.rules)
            self.delays.pop(authority, None)

    def _shrink(self, now: float) -> None:
        """Forgets an eighth more than it must, so that the look at what waits, which takes as
        long as the queues are, is rare."""
        needed = set(self._waiting_authorities()) | self._asked.keys()
        count = self._max_authorities - self._max_authorities // 8
        size = self._max_bytes - self._max_bytes // 8
        for authority in [name for name, entry in self._entries.items() if entry.is_old(now)]:
            if authority not in needed:
                self._forget(authority)
        for authority in list(self._entries):
            if len(self._entries) <= count and self._bytes <= size:
                break
            if authority not in needed:
                self._forget(authority)
        # where pages of more wait than there is room for, all of them stay
        room = self._max_authorities // 8
        self._shrink_above = max(self._max_authorities, len(self._entries) + room)
        self._shrink_bytes_above = max(self._max_bytes, self._bytes + self._max_bytes // 8)

    def _shrink_refused(self, now: float) -> None:
        """Forgets refusals that are over, then those that are over soonest. Those without an
        end belong to a fetch that has one, and stay."""
        ends = sorted((until, name) for name, (_, until) in self._refused.items())
        most = self._max_authorities - self._max_authorities // 8
        for until, authority in ends:
            if until > now and (len(self._refused) <= most or until == math.inf):
                break
            del self._refused[authority]
        room = self._max_authorities // 8
        self._shrink_refused_above = max(self._max_authorities, len(self._refused) + room)


def _size(rules: RobotRules) -> int:
    return len(rules.rules) + sum(map(len, rules.sitemaps))
