"""What follows from the answer to a job's URL: one pure function, one table.

| the answer                                                 | next |
|------------------------------------------------------------|------|
| a redirect to a URL that may be asked for                  | follow, as a job of that URL's host |
| a redirect after too many, back to itself, to nowhere      | finish: redirect.REASON |
| "come again" (429, 503), no connection, a cut answer       | again, after the server's pause |
| the same at the last try, or if it would wait for too long | finish, as it is |
| else: a page, gone, refused by robots.txt                  | finish |

| given back by the engine because …                         | next |
|------------------------------------------------------------|------|
| the server was given up or rests                           | again, after the pause, or refused |
| its robots.txt cannot be had now                           | refused: not asked for minutes |
| robots.txt asks for pauses that are too long               | refused |
| the service ends, or is no longer the owner of the domain  | left to who comes next |
| a batch fetch of the crawl has the server                  | left until that has ended |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crawl.model.status import Status
from crawl.service.values import Hop, Job


class Next(StrEnum):
    """What happens to a job whose URL was asked for."""

    FINISH = "finish"
    FOLLOW = "follow"
    AGAIN = "again"
    REFUSE = "refuse"
    LEAVE = "leave"
    """It stays in the queue, for whoever owns its domain next."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the service keeps at a job."""

    tries: int
    redirects: int
    max_wait_s: float


@dataclass(frozen=True, slots=True)
class Target:
    """Where a redirect leads, after all rules that a URL is under."""

    url: str = ""
    """In normal form; empty where there is none."""
    refusal: str = ""
    """Why it is not followed."""


@dataclass(frozen=True, slots=True)
class Step:
    """What happens next, and why."""

    next: Next
    reason: str = ""
    url: str = ""
    """To be followed."""


_REDIRECTS = (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)
_FOR_THE_NEXT_OWNER = frozenset(
    (
        *("service_ends", "not_owner", "lease_over", "yielded", "not_looked", "hung", "crashed"),
        *("ended", "interrupted"),
    )
)
_FOR_GOOD = frozenset(("crawl_delay_too_long", "too_large_to_carry", "robots_deferred"))
"""A robots.txt that cannot be had is not asked for again for minutes: until then each further try
would be refused by the fetcher itself, and whoever waits is better told now."""


def after_answer(
    job: Job, status: Status, target: Target | None, pause_s: float, limits: Limits
) -> Step:
    """What follows from a record of the job's URL. `pause_s` is what its server is owed now."""
    if status in _REDIRECTS:
        return _after_redirect(job, target or Target(refusal="no_target"), limits)
    if status is Status.FETCH_RETRY:
        if job.tries + 1 >= limits.tries:
            return Step(Next.FINISH, "tries")
        if pause_s > limits.max_wait_s:
            return Step(Next.FINISH, "long_pause")
        return Step(Next.AGAIN)
    return Step(Next.FINISH)


def after_return(job: Job, reason: str, pause_s: float, limits: Limits) -> Step:
    """What follows where the engine gave the URL back without a record."""
    if reason in _FOR_THE_NEXT_OWNER:
        return Step(Next.LEAVE, reason)
    is_hopeless = reason in _FOR_GOOD or pause_s > limits.max_wait_s
    if is_hopeless or job.tries + 1 >= limits.tries:
        return Step(Next.REFUSE, reason)
    return Step(Next.AGAIN, reason)


def _after_redirect(job: Job, target: Target, limits: Limits) -> Step:
    if target.refusal:
        return Step(Next.FINISH, f"redirect.{target.refusal}")
    if target.url == job.url or any(hop.url == target.url for hop in job.hops):
        return Step(Next.FINISH, "redirect.loop")
    if (job.image_hops if job.image_of else len(job.hops)) >= limits.redirects:
        return Step(Next.FINISH, "redirect.too_many")
    return Step(Next.FOLLOW, url=target.url)


def hop_of(url: str, status: Status, code: int, at_ms: int) -> Hop:
    """The answer as the chain keeps it."""
    return Hop(url, int(status), code, at_ms)
