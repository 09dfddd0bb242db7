"""A lease: of all processes with one store one does the work, until it is silent for a while."""

from __future__ import annotations

import secrets
import threading
from typing import Final

import msgspec

from crawl.clock import Clock
from crawl.service.stores.store import Space, Store

_TRUSTED: Final = 0.8
"""Share of its time for which the holder relies on a lease: clocks do not run alike."""


class _Holder(msgspec.Struct, frozen=True):
    owner: str
    until_ms: int


class Lease:
    """Held by one owner at a time."""

    def __init__(self, store: Store, clock: Clock, name: str, seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._key = name.encode()
        self._seconds = seconds
        self._owner = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._trusted_until = -float("inf")

    def is_held(self) -> bool:
        """Whether this process has it. It is asked before each piece of work: a process that
        was stopped for a while, and goes on, learns here that its time is over."""
        return self._clock.monotonic() < self._trusted_until

    def hold(self) -> bool:
        """Takes the lease, or keeps it for longer; False where somebody else has it."""
        with self._lock:
            # from before the store is asked: what it takes to answer is time of the lease
            began, now_ms = self._clock.monotonic(), self._clock.now_ms()
            stored = self._store.get_many(Space.LEASES, [self._key])[0]
            if stored is not None:
                holder = _DECODE(stored)
                if holder.owner != self._owner and now_ms < holder.until_ms:
                    self._trusted_until = -float("inf")
                    return False
            value = _ENCODE(_Holder(self._owner, now_ms + round(self._seconds * 1000)))
            if not self._store.compare_and_set(Space.LEASES, self._key, stored, value):
                self._trusted_until = -float("inf")
                return False
            self._trusted_until = began + _TRUSTED * self._seconds
            return True

    def release(self) -> None:
        """Gives the lease up, so that the next one need not wait."""
        with self._lock:
            self._trusted_until = -float("inf")
            stored = self._store.get_many(Space.LEASES, [self._key])[0]
            if stored is not None and _DECODE(stored).owner == self._owner:
                free = _ENCODE(_Holder("", 0))
                self._store.compare_and_set(Space.LEASES, self._key, stored, free)


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(_Holder).decode
