"""Answers for robots.txt, shared through the metadata store by all who fetch, and kept over
restarts; none counts for longer than a day (RFC 9309, 2.4)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from threading import Lock

import msgspec

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.robots.stored import MAX_AGE_S, StoredAnswer, seconds_left
from crawl.service.stores.store import MAX_VALUE_BYTES, Row, Space, Store

_log = logging.getLogger(__name__)
_ROOM = 10_000
"""Bytes of a row beside the body."""
_MAX_AGE_MS = round(MAX_AGE_S * 1000)
_REST_S = 5.0
"""For how long a store that failed is not asked again: whoever asks holds up all requests."""


@dataclass(slots=True)
class SharedRobots:
    """Keeps and hands out answers. A store that fails costs a server another request, no job."""

    store: Store
    clock: Clock
    keep_s: float
    _waiting: list[StoredAnswer] = field(default_factory=list)
    """Learnt since the last flush: they are written by another thread than the engine's."""
    _lock: Lock = field(default_factory=Lock)
    _asked_again_at: float = -float("inf")

    def take(self, authority: str) -> StoredAnswer | None:
        """The answer of an authority that still counts; None where there is none."""
        if self.clock.monotonic() < self._asked_again_at:
            return None
        try:
            (raw,) = self.store.get_many(Space.ROBOTS, [authority.encode()])
            answer = None if raw is None else StoredAnswer(*msgspec.msgpack.decode(raw))
        except StorageError as error:
            self._asked_again_at = self.clock.monotonic() + _REST_S
            _log.warning("robots.txt of hosts is asked for anew: %s", error)
            return None
        except (msgspec.DecodeError, TypeError) as error:
            _log.warning("robots.txt of %s is asked for anew: %s", authority, error)
            return None
        counts = answer is not None and seconds_left(answer, self.clock.now_ms(), self.keep_s) > 0
        return answer if counts else None

    def add(self, answer: StoredAnswer) -> None:
        """Keeps an answer, at the next `flush`."""
        with self._lock:
            self._waiting.append(answer)

    def flush(self, before: Callable[[], object] = lambda: None) -> None:
        """Stores what was learnt by now; `before` is called before it can be read, where there is
        anything."""
        with self._lock:
            answers, self._waiting = self._waiting, []
        if not answers:
            return
        before()
        rows = [
            Row(
                answer.authority.encode(),
                msgspec.msgpack.encode(astuple(answer)),
                answer.asked_ms,
                min(answer.expires_ms, answer.asked_ms + _MAX_AGE_MS),
            )
            for answer in answers
            if len(answer.body) < MAX_VALUE_BYTES - _ROOM
        ]
        if not rows:
            return
        try:
            self.store.put_many(Space.ROBOTS, rows)
        except StorageError as error:
            _log.warning("answers for robots.txt are not kept: %s", error)
