"""What every authority's robots.txt says, for as long as it may be believed.

An authority is unknown, being asked, or known. Nobody fetches a page of one that is not
known: the engine asks for its robots.txt first, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from crawl.robots.rules import RobotRules


@dataclass(slots=True)
class _Known:
    rules: RobotRules
    until: float
    served: bool = False
    """Whether anybody has gone by them: rules that expire before the host may be asked for
    a page would be asked for again and again, and no page ever."""


class RobotsCache:
    """Rules by authority (`scheme://host:port`)."""

    def __init__(self, expire_s: float, leave_alone_s: float = math.inf) -> None:
        self._expire_s = expire_s
        self._leave_alone_s = leave_alone_s
        self._known: dict[str, _Known] = {}
        self._asked: dict[str, str] = {}
        self._vain: dict[str, int] = {}
        self._refused: dict[str, tuple[str, float]] = {}
        self.delays: dict[str, float] = {}
        """The pauses in seconds that rules ask for; an old one counts until the rules are
        learnt anew."""

    def rules_of(self, authority: str, now: float) -> RobotRules | None:
        """The rules; None where they are unknown or too old."""
        known = self._known.get(authority)
        if known is None:
            return None
        if known.served and known.until <= now:
            del self._known[authority]
            return None
        known.served = True
        return known.rules

    def asker_of(self, authority: str) -> str | None:
        """The key of the queue whose pages wait for the rules; None where nobody asks."""
        return self._asked.get(authority)

    def ask(self, authority: str, key: str) -> None:
        self._asked[authority] = key

    def learn(self, authority: str, rules: RobotRules, now: float) -> None:
        self._asked.pop(authority, None)
        self._vain.pop(authority, None)
        self._known[authority] = _Known(rules, now + self._expire_s)
        if rules.crawl_delay_s is None:
            self.delays.pop(authority, None)
        else:
            self.delays[authority] = rules.crawl_delay_s

    def failed(self, authority: str) -> int:
        """Another vain try; returns how many there were."""
        self._vain[authority] = self._vain.get(authority, 0) + 1
        return self._vain[authority]

    def is_failing(self, authority: str) -> bool:
        """Whether all tries so far were in vain."""
        return authority in self._vain

    def refuse(self, authority: str, reason: str, now: float, pause_s: float = 0.0) -> None:
        """Its rules could not be had: it is left alone, and for so long at the least."""
        self.give_up(authority)
        self._refused[authority] = reason, now + max(pause_s, self._leave_alone_s)

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
        self._vain.pop(authority, None)
