"""Events of finished URLs for those who listen: published by any thread, heard in an event loop.

The last of them are kept in a ring, so that whoever connects again hears what was missed. A
listener has a buffer of its own: one that is too slow loses its oldest events and is told how
many, and neither the publisher nor another listener waits for it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from crawl.clock import Clock
from crawl.errors import CrawlError
from crawl.service.event_filter import EventFilter
from crawl.service.stores.store import Space, Store

_EPOCH_KEY: Final = b"events/epoch"
_ID = re.compile(r"([0-9]{1,18})-([0-9]{1,18})", re.ASCII)


class TooManyListeners(CrawlError):
    """No further listener is taken for now."""

    may_pass = True


class EventId(NamedTuple):
    """The place of an event. A later one is larger, also after a restart."""

    epoch: int
    """Of the process that published it."""
    sequence: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.sequence}"


def parse_event_id(text: str) -> EventId | None:
    """The id of a header Last-Event-ID; None where it is none of ours."""
    match = _ID.fullmatch(text.strip())
    return EventId(int(match[1]), int(match[2])) if match else None


def next_epoch(store: Store, clock: Clock) -> int:
    """A number larger than that of every process before, by the store and the clock: also where
    the clock was set back meanwhile."""
    while True:
        stored = store.get_many(Space.STATE, [_EPOCH_KEY])[0]
        epoch = max(clock.now_ms(), int(stored) + 1 if stored else 0)
        if store.compare_and_set(Space.STATE, _EPOCH_KEY, stored, b"%d" % epoch):
            return epoch


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, with the JSON that tells it."""

    id: EventId
    type: str
    data: str
    host: str = ""
    crawl: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""
    """The key whose doing it was; empty where it was nobody's."""


@dataclass(frozen=True, slots=True)
class Lagged:
    """Tells a listener that events are missing here."""

    missed: int | None
    """How many at most, those of other crawls and hosts among them where the ring lost them; None
    where nobody knows, as after a restart."""


_EVERYTHING: Final = EventFilter()


class Listener:
    """Hears events by `async for`, in one event loop. To be closed at its end; closing it ends the
    iteration."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        filter: EventFilter,
        most: int,
        detach: Callable[[Listener], None],
        owner: str | None = None,
    ) -> None:
        self._loop = loop
        self._filter = filter
        self._owner = owner
        self._most = most
        self._detach = detach
        self._lock = threading.Lock()
        self._waiting: deque[Event] = deque()
        self._missed = 0
        self._has_unknown_gap = False
        self._is_called = False
        self._is_closed = False
        self._arrival = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[Event | Lagged]:
        return self._events()

    async def next(self) -> Event | Lagged | None:
        """The next event, waiting for it; None once the listener is closed."""
        while True:
            with self._lock:
                if self._has_unknown_gap:
                    self._has_unknown_gap, self._missed = False, 0
                    return Lagged(None)
                if self._missed:
                    missed, self._missed = self._missed, 0
                    return Lagged(missed)
                if self._waiting:
                    return self._waiting.popleft()
                if self._is_closed:
                    return None
                self._is_called = False
                self._arrival.clear()
            await self._arrival.wait()

    def take(self, most: int) -> list[Event]:
        """What has come already, behind what `next` gave; nothing where something is missing
        before it, which `next` tells."""
        with self._lock:
            if self._has_unknown_gap or self._missed:
                return []
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def close(self) -> None:
        """Hears no more: what has come already is still told. May be called by any thread."""
        self._detach(self)
        with self._lock:
            self._is_closed = True
        self._call()

    def wants(self, event: Event) -> bool:
        """Whether the event passes the filter, and is the listener's to hear."""
        if self._owner is not None and event.owner != self._owner:
            return False
        return self._filter.wants(event.host, event.crawl, event.tags)

    def offer(self, event: Event) -> None:
        """Puts an event into the buffer, for which the oldest goes where it is full."""
        with self._lock:
            if self._is_closed:
                return
            if len(self._waiting) >= self._most:
                self._waiting.popleft()
                self._missed += 1
            self._waiting.append(event)
            if self._is_called:
                return  # once is enough, until it has looked
            self._is_called = True
        self._call()

    def note_gap(self, missed: int | None) -> None:
        """Has the listener told that events are missing before those that come."""
        with self._lock:
            self._has_unknown_gap = missed is None
            self._missed += missed or 0

    async def _events(self) -> AsyncIterator[Event | Lagged]:
        try:
            while (event := await self.next()) is not None:
                yield event
        finally:
            self.close()

    def _call(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrival.set)
        except RuntimeError:  # the loop is closed, and nobody listens any more
            self._detach(self)


class EventBus:
    """Publishes to all listeners of this process."""

    def __init__(
        self, epoch: int, *, ring: int = 10_000, buffer: int = 1_000, most_listeners: int = 1_000
    ) -> None:
        """`epoch` is what `next_epoch` gives."""
        self._epoch = epoch
        self._buffer = buffer
        self._most_listeners = most_listeners
        # a listener whose loop is found closed while it is told of an event is forgotten at once
        self._lock = threading.RLock()
        self._sequence = 0
        self._ring: deque[Event] = deque(maxlen=ring)
        self._listeners: dict[Listener, None] = {}

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def publish(
        self,
        type: str,
        data: str,
        *,
        host: str = "",
        crawl: str = "",
        tags: tuple[str, ...] = (),
        owner: str = "",
    ) -> EventId:
        """Tells all listeners of an event; never waits for one of them."""
        with self._lock:
            # under one lock, so that everybody hears events in their order
            self._sequence += 1
            event = Event(
                EventId(self._epoch, self._sequence), type, data, host, crawl, tags, owner
            )
            self._ring.append(event)
            listeners = [each for each in self._listeners if each.wants(event)]
            for listener in listeners:
                listener.offer(event)
        return event.id

    def listen(
        self,
        filter: EventFilter = _EVERYTHING,
        *,
        last: EventId | None = None,
        owner: str | None = None,
    ) -> Listener:
        """A listener of the running event loop: it hears what comes, and with `last`, the id of the
        last event that it has heard, what has come since, as far as the ring has it. With an owner
        it hears of that one's doings alone."""
        loop = asyncio.get_running_loop()
        listener = Listener(loop, filter, self._buffer, self._forget, owner)
        with self._lock:
            if len(self._listeners) >= self._most_listeners:
                raise TooManyListeners(f"{self._most_listeners:,} listen already: come back later")
            if last is not None:
                self._replay(listener, last)
            self._listeners[listener] = None
        return listener

    def close(self) -> None:
        """Ends all listeners."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.close()

    def _replay(self, listener: Listener, last: EventId) -> None:
        first = self._ring[0].id.sequence if self._ring else self._sequence + 1
        if last.epoch != self._epoch or last.sequence > self._sequence:
            listener.note_gap(None)
            heard = 0
        else:
            heard = last.sequence
            missed = first - heard - 1
            if missed > 0:
                listener.note_gap(missed)
        for event in islice(self._ring, max(0, heard + 1 - first), None):
            if listener.wants(event):
                listener.offer(event)

    def _forget(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.pop(listener, None)
