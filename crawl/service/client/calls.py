"""Which requests follow each other, when one is sent again, and when that ends.

A refusal with 429 or 503 was not carried out, so its request is sent again, after as long as the
service asks for. A request without an answer is sent again where it is idempotent, or where it
certainly did not arrive. Either only while the time-out leaves room for it: nobody waits for a
pause after which it would be too late.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from crawl.clock import Clock
from crawl.errors import ServiceFault, ServiceUnreachable, UsageError
from crawl.service.client import requests
from crawl.service.client.effects import Call, Pause, Send, Unanswered
from crawl.service.client.requests import MOST_OF_A_LOOKUP, Answer, Request, fault_of, result_of
from crawl.service.client.results import Job, Page

Result = TypeVar("Result")

_BUSY = (429, 503)
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_LEAST_ASKED_S = 5.0
"""A look at a job is given this much, also near the end of a wait: a service that takes a moment
is not one that is gone."""
_FIRST_POLL_S = 0.05
_LONGEST_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every call is made with."""

    clock: Clock
    rng: random.Random
    timeout_seconds: float
    """Of one call with all its attempts; what the service was asked to wait comes on top."""


def pause_seconds(attempt: int, rng: random.Random) -> float:
    """How long to wait after so many attempts: twice as long each time, and not all clients at
    the same moment."""
    whole: float = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(attempt, 16))
    return whole * rng.uniform(0.5, 1.0)


def ask(
    request: Request[Result], around: Surroundings, seconds: float | None = None
) -> Call[Result]:
    """The result of one request, sent again where that is right."""
    seconds = around.timeout_seconds if seconds is None else seconds
    deadline = around.clock.monotonic() + seconds + request.waits_seconds
    attempt = 0
    while True:
        left = max(0.001, deadline - around.clock.monotonic())
        fault: ServiceFault | None
        try:
            answer: Answer = yield Send(request, left)
        except Unanswered as why:
            fault = ServiceUnreachable(f"the service cannot be reached: {why}")
            again = why.may_pass and (request.is_idempotent or not why.may_have_arrived)
            pause = pause_seconds(attempt, around.rng)
        else:
            fault = _fault(request, answer, around.clock)
            if fault is None:
                return result_of(request, answer)
            again = fault.status in _BUSY
            asked = fault.retry_after_seconds
            pause = pause_seconds(attempt, around.rng) if asked is None else asked
        if not again or around.clock.monotonic() + pause >= deadline:
            raise fault
        yield Pause(pause)
        attempt += 1


def _fault(request: Request[Any], answer: Answer, clock: Clock) -> ServiceFault | None:
    """What the answer complains of; of some requests a 404 is an answer."""
    unknown = request.method == "DELETE" or request.path.startswith("/v1/url?")
    if answer.status == 404 and unknown:
        return None
    return fault_of(answer, clock.now_ms())


def lookup(
    urls: Iterable[str], around: Surroundings, formats: Iterable[str] | None
) -> Call[list[Page | None]]:
    """Any number, in the order in which they were asked for."""
    asked, found = _texts(urls, "lookup"), list[Page | None]()
    formats = formats if formats is None or isinstance(formats, str) else list(formats)
    for begin in range(0, len(asked), MOST_OF_A_LOOKUP):
        batch = requests.lookup(asked[begin : begin + MOST_OF_A_LOOKUP], formats)
        found += yield from ask(batch, around)
    return found


def submit(
    urls: str | Iterable[str | Mapping[str, Any]] | None,
    around: Surroundings,
    *,
    text: str | None,
    priority: str | None,
    max_age: float | str | None,
    tags: Iterable[str] | None,
    formats: Iterable[str] | None,
    image: bool | None,
) -> Call[list[Job]]:
    listed = None if urls is None else [urls] if isinstance(urls, str) else list(urls)
    if listed == []:
        return []
    request = requests.submit(listed, text, priority, max_age, tags, formats, image)
    return (yield from ask(request, around))


def wait_for(
    jobs: Job | str | Iterable[Job | str], around: Surroundings, seconds: float
) -> Call[list[Job]]:
    """What became of jobs, in their order. Those that are not done after so many seconds are
    given as they are then."""
    if isinstance(jobs, Job | str):
        jobs = [jobs]
    known = [each if isinstance(each, Job) else Job(id=each) for each in jobs]
    deadline, pause = around.clock.monotonic() + seconds, _FIRST_POLL_S
    while True:
        for place, each in enumerate(known):
            left = deadline - around.clock.monotonic()
            if not each.is_done and each.id is not None and left > 0:
                limit = min(max(left, _LEAST_ASKED_S), around.timeout_seconds)
                found = yield from ask(requests.job(each.id), around, limit)
                # of a job that waits, a service may know no more than its id
                known[place] = found if found.url else msgspec.structs.replace(found, url=each.url)
        left = deadline - around.clock.monotonic()
        if left <= 0 or all(each.is_done or each.id is None for each in known):
            return known
        yield Pause(min(pause, left))
        pause = min(2 * pause, _LONGEST_POLL_S)


def _texts(values: Iterable[str], what: str) -> Sequence[str]:
    if isinstance(values, str):
        raise UsageError(f"{what}: expected a list of URLs, got one text")
    listed = list(values)
    for each in listed:
        if not isinstance(each, str):
            raise UsageError(f"{what}: expected URLs, got {type(each).__name__}")
    return listed
