"""Answers for robots.txt that a crawl keeps from round to round: until when they count.

What is kept is the answer, not the rules: another name of the crawler, or a release that reads
files better, makes its own rules of the same bytes. An answer counts for a day at the most
(RFC 9309, 2.4), one that is a failure for as long as the host is left alone for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawl.interfaces.protocol import Failure, FailureKind, Response, Truncation
from crawl.robots.answer import Deferred
from crawl.robots.read import MAX_BYTES
from crawl.robots.rules import Basis, RobotRules

MAX_AGE_S = 86_400.0
"""Rules must not be used for longer (RFC 9309, 2.4)."""
MAX_CLOCK_SKEW_MS = 60_000
"""How far the clock of the machine that asked may be ahead of this one's."""
_MAX_TEXT = 2_000
"""Characters of a URL or a message that are kept: a stranger may have chosen them."""


@dataclass(frozen=True, slots=True)
class KeepTimes:
    """For how long answers count, in seconds."""

    answer_s: float
    failure_s: float
    """For those by which the host is left alone."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The last answer to a request for an authority's robots.txt, redirects followed."""

    authority: str
    """`scheme://host:port`, whose rules it has."""
    asked_ms: int
    expires_ms: int
    code: int
    """HTTP's; 0 where no answer came."""
    url: str
    """Where the redirects led, or that of the robots.txt itself."""
    body: bytes = b""
    """Of a 2xx alone, and no more of it than is read."""
    truncated: str = ""
    message: str = ""
    """Why no answer came; one line."""

    def as_answer(self) -> Response | Failure:
        """The answer as it came, as far as rules are made of it."""
        if not self.code:
            return Failure(self.url, FailureKind.OTHER, self.message)
        return Response(self.url, self.code, body=self.body, truncated=Truncation(self.truncated))


def stored_answer(
    authority: str,
    answer: Response | Failure,
    verdict: RobotRules | Deferred,
    now_ms: int,
    times: KeepTimes,
) -> StoredAnswer:
    """What is kept of an answer whose meaning is `verdict`."""
    expires_ms = now_ms + round(_kept_s(verdict, times) * 1000)
    url = answer.url[:_MAX_TEXT]
    if isinstance(answer, Failure):
        message = (answer.message or answer.kind.value)[:_MAX_TEXT]
        return StoredAnswer(authority, now_ms, expires_ms, 0, url, message=message)
    body = answer.body if 200 <= answer.code < 300 else b""
    truncated = answer.truncated
    if len(body) > MAX_BYTES:
        truncated = truncated or Truncation.LENGTH
    return StoredAnswer(
        authority, now_ms, expires_ms, answer.code, url, body[:MAX_BYTES], str(truncated.value)
    )


def seconds_left(stored: StoredAnswer, now_ms: int, keep_s: float = MAX_AGE_S) -> float:
    """For how long the answer still counts where answers are kept for `keep_s`; 0 where it
    does not, or where it seems to be of the future."""
    if stored.asked_ms > now_ms + MAX_CLOCK_SKEW_MS:
        return 0.0
    longest_ms = round(min(keep_s, MAX_AGE_S) * 1000)
    until_ms = min(stored.expires_ms, stored.asked_ms + longest_ms)
    return max(0.0, min(until_ms - now_ms, longest_ms) / 1000)


def _kept_s(verdict: RobotRules | Deferred, times: KeepTimes) -> float:
    if isinstance(verdict, Deferred):
        return min(max(times.failure_s, verdict.retry_after_s or 0.0), MAX_AGE_S)
    if verdict.basis is Basis.SERVER_ERROR:
        return min(times.failure_s, times.answer_s, MAX_AGE_S)
    return min(times.answer_s, MAX_AGE_S)
