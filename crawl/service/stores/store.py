"""The seam between the service and its databases: bytes by key in named spaces, with versions.

Versions are moments, or grow like them: whoever brings a page that was fetched earlier, because
it was delayed or sent twice, does no harm. Nobody compares versions of different keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from crawl.errors import StorageError

MAX_KEY_BYTES = 32_768
MAX_VALUE_BYTES = 8 << 20
"""A half of what Cassandra takes at once as it is delivered."""
ORDERED_KEY_BYTES = 400
"""Keys are in the order of their first bytes; of longer keys that begin with the same, each store
has an order of its own. No prefix of a scan is longer."""
MAX_VERSION = (1 << 62) - 1


class Space(StrEnum):
    """What is kept apart."""

    PAGES = "pages"
    """What is known of URLs. Whole stores of it are not read through: see `Store.scan`."""
    ROBOTS = "robots"
    """Every authority's robots.txt, for all who fetch."""
    LEASES = "leases"
    """Who owns which domains, and until when."""
    JOBS = "jobs"
    """What became of submissions."""
    CRAWLS = "crawls"
    WEBHOOKS = "webhooks"
    KEYS = "keys"
    """API keys, hashed."""
    STATE = "state"


UNCONDITIONAL = frozenset((Space.PAGES, Space.ROBOTS, Space.JOBS))
"""Spaces of many rows, which no `compare_and_set` touches. Cassandra decides about a condition in
several rounds among its replicas, and only where all who write a row take part in that."""


class DamagedStore(StorageError):
    """What is stored is not what was written: to ask again is in vain."""

    may_pass = False


class Row(msgspec.Struct, frozen=True, gc=False):
    """A value under its key."""

    key: bytes
    value: bytes
    version: int
    """From 0 to MAX_VERSION; larger ones win."""
    expires_at_ms: int | None = None
    """The moment from which the row is as if it were not there."""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What can be said of a store without reading it through."""

    store: str
    """Which one it is, without user and password."""
    rows: Mapping[Space, int] = field(default_factory=dict)
    """Where it is cheap to tell; those that expired may still count."""
    size_bytes: int | None = None
    """On disk, or in the memory of the server."""
    warnings: tuple[str, ...] = ()
    """What its operator should change, such as a server that keeps nothing on disk."""


class Store(Protocol):
    """A database of the service. Several threads may use it at once, and but for the one in memory
    several processes. Whatever goes wrong between it and its disk or server is a StorageError."""

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of the keys in their order; None where there is none, or it expired."""
        ...

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        """Stores the rows; they are durable when it returns. A row never replaces one of a larger
        version; of equal versions the later stays, also within the rows. The version of a row that
        expired or was deleted may go on to count. When it fails, some rows may be stored: with the
        same versions all of them can be put again."""
        ...

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        """Removes the rows, whatever their version."""
        ...

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        """The first rows whose keys begin with the prefix and come after `after`, in the order of
        the keys. An empty list is the end; what is put meanwhile may be missed. Pages are there to
        be looked up: a store that is a server refuses to be scanned for them (UsageError)."""
        ...

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes | None,
        expires_at_ms: int | None = None,
    ) -> bool:
        """Replaces the value if it is the expected one, as one step for all processes; None is no
        value, both times. Whether it was. The row's version becomes one larger.

        Not for the spaces of UNCONDITIONAL (ValueError). After a StorageError it may have been
        done or not: whoever must know reads the value."""
        ...

    def stats(self) -> StoreStats: ...

    def check(self) -> None:
        """Raises StorageError unless the store answers now."""
        ...

    def close(self) -> None:
        """Ends what others are not using any more; a second time does nothing."""
        ...


def check_keys(keys: Sequence[bytes]) -> None:
    """ValueError where one is empty or too long."""
    for key in keys:
        if not 0 < len(key) <= MAX_KEY_BYTES:
            raise ValueError(f"a key of {len(key):,} bytes; 1 to {MAX_KEY_BYTES:,} are possible")


def check_rows(rows: Sequence[Row]) -> None:
    """ValueError where one cannot be stored."""
    check_keys([row.key for row in rows])
    for row in rows:
        check_value(row.value)
        if not 0 <= row.version <= MAX_VERSION:
            raise ValueError(f"a version of {row.version}; 0 to {MAX_VERSION} are possible")


def check_value(value: bytes) -> None:
    """ValueError where it is too long."""
    if len(value) > MAX_VALUE_BYTES:
        raise ValueError(f"a value of {len(value):,} bytes; {MAX_VALUE_BYTES:,} are possible")


def check_scan(prefix: bytes, limit: int) -> None:
    """ValueError where it cannot be answered."""
    if len(prefix) > ORDERED_KEY_BYTES:
        raise ValueError(f"a prefix of {len(prefix):,} bytes; {ORDERED_KEY_BYTES} are possible")
    if limit < 1:
        raise ValueError(f"a scan of {limit} rows")


def end_of_prefix(prefix: bytes) -> bytes | None:
    """The first key after all that begin with the prefix; None where there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,)) if kept else None


def check_condition(space: Space, key: bytes, value: bytes | None) -> None:
    """ValueError where a `compare_and_set` is not possible."""
    if space in UNCONDITIONAL:
        raise ValueError(f"the space {space} takes no conditions")
    check_keys([key])
    check_value(value or b"")


_Kept = TypeVar("_Kept")


def in_parts(whole: Sequence[_Kept], most: int) -> list[Sequence[_Kept]]:
    """The same in parts of at most so many, for servers that are not to be held up for long."""
    return [whole[at : at + most] for at in range(0, len(whole), most)]
