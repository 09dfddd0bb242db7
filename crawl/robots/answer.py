"""What the answer to a request for robots.txt means for its host (RFC 9309, 2.3.1):

2xx                        its rules
3xx                        redirected too often or to nowhere: everything is allowed
403                        as configured, everything or nothing is allowed
407                        our own proxy's word: as no answer
other 4xx                  everything is allowed
429, 5xx, other codes      the host is left alone for a while; as configured,
                           everything is allowed
a body that broke off      the host is left alone for a while
no answer                  the host is left alone for a while
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from crawl.interfaces.protocol import Failure, Response, Truncation
from crawl.robots.read import read_rules
from crawl.robots.rules import Basis, RobotRules, allow_all, disallow_all
from crawl.robots.waits import retry_after_seconds

_MAX_DETAIL = 100
"""Characters of a failure's detail that people are shown."""
MAX_REDIRECTS = 5
"""At least as many must be followed (RFC 9309, 2.3.1.2)."""


class DeferReason(StrEnum):
    """Why nothing of a host may be fetched now; each is a reason to count."""

    SERVER_ERROR = "robots_server_error"
    TOO_MANY_REQUESTS = "robots_too_many_requests"
    INCOMPLETE = "robots_incomplete"
    UNREACHABLE = "robots_unreachable"


@dataclass(frozen=True, slots=True)
class Deferred:
    """The rules are not known: the host is to be left alone, and asked again later."""

    reason: DeferReason
    detail: str = ""
    """One line for people."""
    retry_after_s: float | None = None
    """The wait that the server asked for."""

    @property
    def reply(self) -> str:
        """What the server replied, or that it did not, in a few words for people."""
        if self.reason is DeferReason.UNREACHABLE:
            return f"robots.txt: not to be had ({self.detail[:_MAX_DETAIL]})"
        wait = self.retry_after_s
        return self.detail if wait is None else f"{self.detail}, Retry-After {wait:.0f} s"


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    """What is configured about robots.txt."""

    agents: tuple[str, ...]
    """The names that the crawler answers to: `http.agent.name`, `http.robots.agents`."""
    allow_on_403: bool = True
    """`http.robots.403.allow`"""
    defer_on_5xx: bool = True
    """`http.robots.503.defer.visits`"""


def rules_from_answer(
    answer: Response | Failure, policy: RobotsPolicy, now_ms: int
) -> RobotRules | Deferred:
    """The rules of a host by the last answer, redirects already followed by the caller."""
    if isinstance(answer, Failure):
        return Deferred(DeferReason.UNREACHABLE, answer.message or answer.kind.value)
    code = answer.code
    if 200 <= code < 300:
        return _rules_of_body(answer, policy.agents)
    if 300 <= code < 400:
        return allow_all(Basis.REDIRECTS)
    if code == 403:
        return (allow_all if policy.allow_on_403 else disallow_all)(Basis.FORBIDDEN)
    if code == 407:  # a proxy of ours refuses us: the host was not asked
        return Deferred(DeferReason.UNREACHABLE, "407 by the proxy")
    if 400 <= code < 500 and code != 429:
        return allow_all(Basis.ABSENT)
    if not policy.defer_on_5xx:
        return allow_all(Basis.SERVER_ERROR)
    reason = DeferReason.TOO_MANY_REQUESTS if code == 429 else DeferReason.SERVER_ERROR
    wait = retry_after_seconds(answer.header("Retry-After"), now_ms)
    return Deferred(reason, f"robots.txt: {code}", wait)


def _rules_of_body(answer: Response, agents: Sequence[str]) -> RobotRules | Deferred:
    if answer.truncated in (Truncation.TIME, Truncation.DISCONNECT):
        # The missing half may be the one that forbids.
        return Deferred(DeferReason.INCOMPLETE, f"robots.txt: cut off ({answer.truncated})")
    whole = answer.truncated is Truncation.WHOLE
    return read_rules(answer.body, agents, whole=whole, url=answer.url)
