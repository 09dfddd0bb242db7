"""A store for tests: as its interface promises, and gone with the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from crawl.clock import Clock, SystemClock
from crawl.service.stores.store import Row, Space


class MemoryStore:
    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._spaces: dict[Space, dict[bytes, Row]] = {space: {} for space in Space}
        self.reads = 0

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock:
            self.reads += 1
            rows = [self._live(space, key) for key in keys]
            return [None if row is None else row.value for row in rows]

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        with self._lock:
            for row in rows:
                before = self._live(space, row.key)
                if before is None or before.version <= row.version:
                    self._spaces[space][row.key] = row

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        with self._lock:
            for key in keys:
                self._spaces[space].pop(key, None)

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        with self._lock:
            self.reads += 1
            keys = sorted(key for key in self._spaces[space] if key.startswith(prefix))
            rows = [self._live(space, key) for key in keys if key > after]
            return [row for row in rows if row is not None][:limit]

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes,
        expires_at_ms: int | None = None,
    ) -> bool:
        with self._lock:
            before = self._live(space, key)
            if (None if before is None else before.value) != expected:
                return False
            version = 1 if before is None else before.version + 1
            self._spaces[space][key] = Row(key, value, version, expires_at_ms)
            return True

    def _live(self, space: Space, key: bytes) -> Row | None:
        row = self._spaces[space].get(key)
        if row is None or (row.expires_at_ms or 1 << 62) <= self._clock.now_ms():
            return None
        return row


class SetClock:
    """A clock that moves when it is told to."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self.ms = now_ms

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    def move(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)
