"""The interface of all stores of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Space(StrEnum):
    """What kind of rows a key belongs to."""

    PAGES = "pages"
    ROBOTS = "robots"
    LEASES = "leases"
    JOBS = "jobs"
    CRAWLS = "crawls"
    WEBHOOKS = "webhooks"
    KEYS = "keys"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Row:
    """A key and what is stored under it."""

    key: bytes
    value: bytes
    version: int
    expires_at_ms: int | None = None


class Store(Protocol):
    """Keys and values in spaces of their own."""

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        """Stores the rows durably; one with a larger version is never replaced."""
        ...

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None: ...

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        """Rows in the order of their keys."""
        ...

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes,
        expires_at_ms: int | None = None,
    ) -> bool:
        """Stores the value if what is stored is the expected one, None for nothing."""
        ...
