"""The store in the memory of one process: for tests, and for a service that may forget."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from threading import Lock

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.service.stores.store import (
    Row,
    Space,
    StoreStats,
    check_condition,
    check_keys,
    check_rows,
    check_scan,
)

_SWEPT = 2
"""Rows that are removed for each that is written, if so many have expired."""


class MemoryStore:
    """Keeps rows until the process ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._spaces: dict[Space, dict[bytes, Row]] = {space: {} for space in Space}
        self._expiries: list[tuple[int, Space, bytes]] = []
        self._is_closed = False

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        check_keys(keys)
        now_ms = self._clock.now_ms()
        with self._lock:
            rows = map(self._rows(space).get, keys)
            return [row.value if row and not _is_expired(row, now_ms) else None for row in rows]

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        check_rows(rows)
        with self._lock:
            kept = self._rows(space)
            for row in rows:
                old = kept.get(row.key)
                if old is None or old.version <= row.version:
                    self._put(space, row)

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        check_keys(keys)
        with self._lock:
            rows = self._rows(space)
            for key in keys:
                rows.pop(key, None)

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        check_scan(prefix, limit)
        now_ms = self._clock.now_ms()
        with self._lock:
            found = (
                row
                for key, row in self._rows(space).items()
                if key > after and key.startswith(prefix) and not _is_expired(row, now_ms)
            )
            return heapq.nsmallest(limit, found, key=lambda row: row.key)

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes | None,
        expires_at_ms: int | None = None,
    ) -> bool:
        check_condition(space, key, value)
        now_ms = self._clock.now_ms()
        with self._lock:
            rows = self._rows(space)
            old = rows.get(key)
            is_there = old is not None and not _is_expired(old, now_ms)
            if (old.value if old and is_there else None) != expected:
                return False
            if value is None:
                rows.pop(key, None)
            else:
                version = old.version + 1 if old else 0
                self._put(space, Row(key, value, version, expires_at_ms))
            return True

    def stats(self) -> StoreStats:
        with self._lock:
            return StoreStats(
                "memory:",
                {space: len(rows) for space, rows in self._spaces.items()},
                sum(
                    len(row.key) + len(row.value)
                    for rows in self._spaces.values()
                    for row in rows.values()
                ),
                ("nothing of what is in memory is left when the service ends",),
            )

    def check(self) -> None:
        with self._lock:
            self._rows(Space.STATE)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True

    def _rows(self, space: Space) -> dict[bytes, Row]:
        if self._is_closed:
            raise StorageError("the store memory: is closed")
        return self._spaces[space]

    def _put(self, space: Space, row: Row) -> None:
        self._spaces[space][row.key] = row
        if row.expires_at_ms is not None:
            heapq.heappush(self._expiries, (row.expires_at_ms, space, row.key))
        now_ms = self._clock.now_ms()
        for _ in range(_SWEPT):
            if not self._expiries or self._expiries[0][0] > now_ms:
                break
            _, at, key = heapq.heappop(self._expiries)
            old = self._spaces[at].get(key)
            if old is not None and old is not row and _is_expired(old, now_ms):
                del self._spaces[at][key]


def _is_expired(row: Row, now_ms: int) -> bool:
    return row.expires_at_ms is not None and row.expires_at_ms <= now_ms
