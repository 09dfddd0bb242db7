"""Streams of events that go on where they broke: a connection that ends is made anew, and the
service told the last event that arrived (`Last-Event-ID`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec

from crawl.errors import ServiceFault, ServiceUnreachable
from crawl.printable import one_line
from crawl.service.client import requests
from crawl.service.client.calls import Surroundings, ask, pause_seconds
from crawl.service.client.effects import (
    Emit,
    ItemStream,
    Open,
    Pause,
    Read,
    Send,
    Stream,
    Unanswered,
)
from crawl.service.client.event_stream import EventReader, ServerEvent
from crawl.service.client.results import CrawlStatus, Finished, Page, as_value

Item = TypeVar("Item")

_BUSY = (429, 502, 503, 504)
_PAGE = "page"
_END = "end"
_LAGGED = "lagged"

Missed = Callable[[int | None], None]
"""Told how many events a listener missed that was too slow, or away for too long; None where the
service does not know."""
_log = logging.getLogger(__name__)


def log_missed(count: int | None) -> None:
    """What is done where nobody wants to be told."""
    shown = "an unknown number of" if count is None else f"{count:,}"
    _log.warning("%s events of the crawl service were missed", shown)


def finished_urls(around: Surroundings, last_id: str, on_missed: Missed) -> ItemStream[Finished]:
    """Every URL that is finished; it ends only where the service is away for longer than the
    time-out, or refuses."""

    def read(event: ServerEvent) -> Finished | None:
        if event.name == _LAGGED:
            on_missed(_missed(event))
        if event.name != "finished":
            return None
        said = {**_said(event), "event_id": event.last_id}
        return as_value(Finished, said)

    place = _Place(last_id)
    absent_since: float | None = None
    attempt = 0
    while True:
        had = place.received
        fault = yield from _connection("/v1/events", place, read, around)
        absent_since, attempt = yield from _come_back(
            place, had, fault, absent_since, attempt, around
        )


def pages_of_crawl(
    crawl_id: str, around: Surroundings, last_id: str, on_missed: Missed
) -> ItemStream[Page]:
    """Every page of a site's crawl, until it is done and all have come."""

    has_ended = False

    def read(event: ServerEvent) -> Page | None:
        nonlocal has_ended
        if event.name == _LAGGED:
            on_missed(_missed(event))
        has_ended = has_ended or event.name == _END
        if event.name != _PAGE:
            return None
        said = _said(event)
        page = said.get("page")
        # of what was not fetched there is no page, but a reason
        return as_value(Page, page if isinstance(page, dict) else said)

    place = _Place(last_id)
    absent_since: float | None = None
    attempt = 0
    was_done = False
    while True:
        had = place.received
        fault = yield from _connection(requests.pages_path(crawl_id), place, read, around)
        if has_ended:
            return
        if fault is None:
            # a connection that was made after the crawl was done, and brought nothing more
            if was_done and place.received == had:
                return
            status: CrawlStatus = yield from ask(requests.crawl_status(crawl_id), around)
            was_done = status.is_done
            if was_done and place.received and not place.last_id:
                return  # a service that numbers nothing would begin at the first again
            if was_done:
                continue
        absent_since, attempt = yield from _come_back(
            place, had, fault, absent_since, attempt, around
        )


class _Place:
    """How far a stream has come, over all its connections."""

    def __init__(self, last_id: str) -> None:
        self.last_id = last_id
        self.received = 0
        self.retry_seconds: float | None = None


def _connection(
    path: str,
    place: _Place,
    read: Callable[[ServerEvent], Item | None],
    around: Surroundings,
) -> Generator[Send | Open | Read | Pause | Emit[Item], Any, ServiceFault | None]:
    """What one connection brings; returns why it broke, None where the service ended it."""
    request = requests.events(path, place.last_id)
    try:
        stream: Stream = yield Open(request, around.timeout_seconds)
    except Unanswered as why:
        fault = ServiceUnreachable(f"the service cannot be reached: {why}")
        if not why.may_pass:
            raise fault from why
        return fault
    try:
        refused = requests.fault_of(stream.head, around.clock.now_ms())
        if refused is not None:
            if refused.status not in _BUSY:
                raise refused
            return refused
        events = EventReader(place.last_id)
        while True:
            try:
                content: bytes = yield Read(stream)
            except Unanswered as why:
                return ServiceUnreachable(f"the service's events broke off: {why}")
            if not content:
                return None
            for event in events.feed(content):
                item = _read(read, event)
                # before it is given: whoever has it and leaves has it
                place.last_id = event.last_id
                if item is not None:
                    place.received += 1
                    yield Emit(item)
            place.retry_seconds = events.retry_seconds
    finally:
        stream.close()


def _come_back(
    place: _Place,
    had: int,
    fault: ServiceFault | None,
    absent_since: float | None,
    attempt: int,
    around: Surroundings,
) -> Generator[Pause, Any, tuple[float | None, int]]:
    """Waits until it is time for the next connection; raises the fault where the service was
    away for too long."""
    now = around.clock.monotonic()
    if place.received > had:
        attempt = 0
    if fault is None or place.received > had:
        absent_since = None
    elif absent_since is None:
        absent_since = now
    pause = pause_seconds(attempt, around.rng)
    if place.retry_seconds is not None:
        pause = max(pause, place.retry_seconds)
    if fault is not None and fault.retry_after_seconds is not None:
        pause = fault.retry_after_seconds
    if absent_since is not None and fault is not None:
        if now + pause - absent_since > around.timeout_seconds:
            raise fault
    elif fault is not None and pause > around.timeout_seconds:
        raise fault
    yield Pause(pause)
    return absent_since, attempt + 1


def _read(read: Callable[[ServerEvent], Item | None], event: ServerEvent) -> Item | None:
    try:
        return read(event)
    except msgspec.ValidationError as error:
        shown = one_line(str(error), 300)
        raise ServiceFault(f"the service's event is not understood: {shown}") from error


def _missed(event: ServerEvent) -> int | None:
    count = _said(event).get("missed")
    return count if isinstance(count, int) else None


def _said(event: ServerEvent) -> dict[str, Any]:
    try:
        said: dict[str, Any] = msgspec.json.decode(event.data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        shown = one_line(str(error), 300)
        raise ServiceFault(f"the service's event is not understood: {shown}") from error
    return said
