"""What servers are owed, kept over restarts: a host that said "come again in an hour", that failed
or asks for long pauses, and one that was asked a moment ago, do not gain by our death.

What is out of the ordinary is kept in the metadata store soon after it is learnt. The usual pause
is not, as it would be a row for every request: a service that was killed owes one to every server
when it starts, whoever of them was asked last. A file beside the queue tells whether it was killed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import astuple, replace
from pathlib import Path
from threading import Lock

import msgspec

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.fetcher.frontier.queue import ADDRESS_MARK, ServerState
from crawl.fetcher.hand_over import pauses_of, states_of
from crawl.fetcher.values.hooks import KnownServer
from crawl.fetcher.values.politeness import Politeness
from crawl.service.stores.store import MAX_KEY_BYTES, Row, Space, Store
from crawl.storage.server_pauses import ServerPause

_PREFIX = b"pause/"
_RUNNING = "RUNNING"
_PAGE = 1000
_CRAWL_DELAY_KEPT_MS = 86_400_000
"""As long as a robots.txt counts."""
_SAME_MS = 250
"""Pauses that end so close to each other are one: it was reckoned twice."""

_log = logging.getLogger(__name__)


class OwedPauses:
    """Written by several threads, and read when the service starts."""

    def __init__(self, store: Store, folder: Path, politeness: Politeness, clock: Clock) -> None:
        self._store = store
        self._running = folder / _RUNNING
        self._politeness = politeness
        self._clock = clock
        self._begun = clock.monotonic()
        self._was_killed = self._running.exists()
        self._has_begun = False
        self._lock = Lock()
        self._kept: dict[str, ServerPause] = {}
        """As the store has them, of servers that are owed something."""

    @property
    def was_killed(self) -> bool:
        """Whether the service before this one did not come to its end."""
        return self._was_killed

    def begin(self) -> list[ServerState]:
        """What servers are owed by the service before this one, which then counts as running."""
        now_ms = self._clock.now_ms()
        pauses = self._read()
        try:
            self._running.touch()
        except OSError as error:
            raise StorageError(f"{self._running}: {error.strerror}") from error
        self._has_begun = True
        states = list(states_of(pauses, now_ms))
        if self._was_killed:
            states = [
                replace(each, pause_s=max(each.pause_s, self._least_s(each))) for each in states
            ]
        return states

    def take(self, key: str) -> KnownServer | None:
        """What a server is owed of which nothing was kept; None for nothing. The engine asks when
        it first meets a server."""
        if not self._was_killed:
            return None
        ready_at = self._begun + self._usual_s(key)
        return KnownServer(ready_at) if ready_at > self._clock.monotonic() else None

    def keep(self, states: Iterable[ServerState], *, is_end: bool = False) -> bool:
        """Keeps what is out of the ordinary; at the end all. A store that fails costs no job:
        returns whether it went well."""
        telling = [each for each in states if is_end or self._is_unusual(each)]
        try:
            self._write(pauses_of(telling, self._clock))
        except StorageError as error:
            _log.warning("the pauses of servers are not kept: %s", error)
            return False
        with self._lock:
            present = {each.key for each in telling}
            self._kept = {key: kept for key, kept in self._kept.items() if key in present}
        return True

    def keep_one(self, key: str, pause_s: float) -> None:
        """Keeps at once how long a server must not be asked, where that is longer than usual."""
        if pause_s <= self._usual_s(key):
            return
        (pause,) = pauses_of([ServerState(key, pause_s)], self._clock)
        with self._lock:
            before = self._kept.get(key)
        if before is not None:
            if pause.ready_ms <= before.ready_ms + _SAME_MS:
                return
            pause = replace(before, ready_ms=pause.ready_ms, told_ms=pause.told_ms)
        try:
            self._write([pause])
        except StorageError as error:
            _log.warning("the pause of %s is not kept: %s", key, error)

    def end(self, states: Iterable[ServerState]) -> None:
        """Keeps what all servers are owed, and that the service came to its end."""
        if self._has_begun and self.keep(states, is_end=True):
            self._running.unlink(missing_ok=True)

    def _is_unusual(self, state: ServerState) -> bool:
        special = state.exceptions or state.closed_reason or state.min_delay_s or state.wait_reason
        return bool(special) or state.pause_s > self._usual_s(state.key)

    def _usual_s(self, key: str) -> float:
        if key.startswith(ADDRESS_MARK):
            return self._politeness.ip_delay_s
        return self._politeness.pace_of(key).delay_s

    def _least_s(self, state: ServerState) -> float:
        """The pause of a server that may have been asked just before the death."""
        return max(self._usual_s(state.key), state.min_delay_s)

    def _write(self, pauses: Iterable[ServerPause]) -> None:
        with self._lock:
            fresh = [each for each in pauses if not _is_same(each, self._kept.get(each.server))]
            rows = [
                Row(key, msgspec.msgpack.encode(astuple(each)), each.told_ms, _expires_ms(each))
                for each in fresh
                if len(key := _PREFIX + each.server.encode()) <= MAX_KEY_BYTES
            ]
            if rows:
                self._store.put_many(Space.STATE, rows)
            self._kept.update((each.server, each) for each in fresh)

    def _read(self) -> list[ServerPause]:
        pauses: list[ServerPause] = []
        after = b""
        while rows := self._store.scan(Space.STATE, _PREFIX, after, _PAGE):
            after = rows[-1].key
            for row in rows:
                try:
                    pauses.append(ServerPause(*msgspec.msgpack.decode(row.value)))
                except (msgspec.DecodeError, TypeError) as error:
                    _log.warning("the pause of %r cannot be read: %s", row.key[:200], error)
        return pauses


def _expires_ms(pause: ServerPause) -> int:
    """When it tells nothing any more."""
    kept_ms = pause.told_ms + (_CRAWL_DELAY_KEPT_MS if pause.crawl_delay_s else 0)
    return max(pause.matters_until_ms, kept_ms) + 1


def _is_same(pause: ServerPause, before: ServerPause | None) -> bool:
    """Whether nothing is new; a pause that is over need not be known to be."""
    if before is None or pause.told_ms > before.told_ms + _CRAWL_DELAY_KEPT_MS // 2:
        return False
    is_as_long = (
        abs(pause.ready_ms - before.ready_ms) <= _SAME_MS or pause.ready_ms <= pause.told_ms
    )
    return is_as_long and (pause.failures, pause.crawl_delay_s, pause.reason, pause.closed) == (
        *(before.failures, before.crawl_delay_s),
        *(before.reason, before.closed),
    )
