"""A store for tests that several processes share, and that outlives them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from crawl.service.stores.store import Row, Space


class FileStore:
    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._sql = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self._sql.execute(
            "CREATE TABLE IF NOT EXISTS rows (space TEXT, key BLOB, value BLOB, version INTEGER,"
            " expires INTEGER, PRIMARY KEY (space, key))"
        )

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock:
            return [self._value(space, key) for key in keys]

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        with self._lock:
            self._sql.execute("BEGIN IMMEDIATE")
            self._sql.executemany(
                "INSERT INTO rows VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " value = excluded.value, version = excluded.version, expires = excluded.expires"
                " WHERE excluded.version >= version",
                [(space, row.key, row.value, row.version, row.expires_at_ms) for row in rows],
            )
            self._sql.execute("COMMIT")

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        with self._lock:
            for key in keys:
                self._sql.execute("DELETE FROM rows WHERE space = ? AND key = ?", (space, key))

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        with self._lock:
            found = self._sql.execute(
                "SELECT key, value, version, expires FROM rows WHERE space = ? AND key >= ?"
                " AND key < ? AND key > ? ORDER BY key LIMIT ?",
                (space, prefix, prefix + b"\xff", after, limit),
            )
            return [Row(*row) for row in found]

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes,
        expires_at_ms: int | None = None,
    ) -> bool:
        with self._lock:
            self._sql.execute("BEGIN IMMEDIATE")
            is_expected = self._value(space, key) == expected
            if is_expected:
                self._sql.execute(
                    "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, 1, ?)",
                    (space, key, value, expires_at_ms),
                )
            self._sql.execute("COMMIT")
            return is_expected

    def close(self) -> None:
        self._sql.close()

    def _value(self, space: Space, key: bytes) -> bytes | None:
        found = self._sql.execute(
            "SELECT value FROM rows WHERE space = ? AND key = ?", (space, key)
        ).fetchone()
        return found[0] if found else None
