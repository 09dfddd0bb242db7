"""One stream while it goes on: what it hears, and when it has to end."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Final

from crawl.service.api.gate import Gate
from crawl.service.api.stream_slots import StreamSlots
from crawl.service.callers.access import Caller
from crawl.service.telling.events import Event, Lagged, Listener

_LOOK_AT_KEY_S: Final = 2.0
"""So often it is looked whether the key is good still."""


class LiveStream:
    """For one event loop; to be closed."""

    def __init__(
        self,
        listener: Listener,
        caller: Caller,
        gate: Gate,
        slots: StreamSlots,
        longest_s: float | None = None,
    ) -> None:
        self._listener = listener
        self._caller = caller
        self._gate = gate
        self._monotonic = slots.clock.monotonic
        self._stack = ExitStack()
        ends_at = self._stack.enter_context(slots.taken(caller.id))
        now = self._monotonic()
        self._ends_at = ends_at if longest_s is None else min(ends_at, now + longest_s)
        self._key_due_at = now + _LOOK_AT_KEY_S
        self._spoke_at = now
        self._waiting: asyncio.Task[Event | Lagged | None] | None = None
        self._is_over = False

    def may_go_on(self) -> bool:
        """Whether it has time left, and its key is good still."""
        now = self._monotonic()
        if now >= self._key_due_at:
            self._key_due_at = now + _LOOK_AT_KEY_S
            if not self._gate.is_still_admitted(self._caller):
                self._gate.counters["api_errors.stream_key_refused"] += 1
                return False
        return now < self._ends_at and not self._is_over

    async def next(self, longest_s: float) -> Event | Lagged | None:
        """What is heard next; None where that takes longer, or it is time to look whether to go
        on."""
        if self._waiting is None:
            self._waiting = asyncio.ensure_future(self._listener.next())
        until = min(self._ends_at, self._key_due_at) - self._monotonic()
        await asyncio.wait({self._waiting}, timeout=max(0.0, min(longest_s, until)))
        if not self._waiting.done():
            return None
        heard, self._waiting = self._waiting.result(), None
        self._is_over = heard is None
        if heard is not None:
            self._spoke_at = self._monotonic()
        return heard

    def more(self, most: int) -> list[Event]:
        """What has come meanwhile: for few who listen to much it is sent in one piece."""
        return [] if self._is_over else self._listener.take(most)

    def is_silent_for(self, seconds: float) -> bool:
        """Whether it is time for a sign of life; it counts as given."""
        now = self._monotonic()
        if now - self._spoke_at < seconds:
            return False
        self._spoke_at = now
        return True

    def close(self) -> None:
        """Hears no more."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._listener.close()
        self._stack.close()
