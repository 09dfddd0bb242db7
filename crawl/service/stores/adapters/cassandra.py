"""The store in Cassandra, or what speaks its language (CQL), for services of many machines.

A table a space. Pages lie one a partition. Rows of the other spaces lie in a fixed number of
partitions by their hash, each in the order of its keys, so that a scan asks each partition for its
next rows and merges them.

Rows of the spaces that take no conditions are written with their version as the timestamp, by
which Cassandra itself lets the larger win. Of equal timestamps it keeps the larger bytes: the
moment of the put stands before the record. But of two puts of one version it keeps one that
expires before one that does not, and the one that expires later; what is left of a deleted row
counts among these. Rows of the other spaces are written on the condition (LWT) that they are as
they were read, all of them: conditions and timestamps do not go together.

A server that is killed has what it acknowledged only with `commitlog_sync: group` (or batch); as
it is delivered, Cassandra relies on the other replicas for that (`StoreStats.warnings` tells).

Reads and writes ask a quorum of the near data centre, conditions one of all: a lease has one owner
everywhere. Rows expire by the TTL of the servers a minute after they do by our clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

from crawl.clock import Clock
from crawl.errors import UsageError
from crawl.service.stores.adapters.cassandra_cluster import CassandraCluster, connect
from crawl.service.stores.address import StoreAddress
from crawl.service.stores.record import NEVER, DamagedRecord, encoded, head_of, value_of
from crawl.service.stores.store import (
    UNCONDITIONAL,
    DamagedStore,
    Row,
    Space,
    StoreStats,
    check_condition,
    check_keys,
    check_rows,
    check_scan,
    end_of_prefix,
    in_parts,
)

_BUCKETS = {Space.JOBS: 1024, Space.ROBOTS: 256, Space.LEASES: 256}
"""Partitions of a space, as many as its rows need, and as those who write on conditions at the
same time, who wait for each other within one. A part of the tables' layout: never to be changed."""
_FEW = 16
_KEYS_AT_ONCE = 20
"""Pages of one request. Scylla takes 100, and where rows are as large as they may be, a server has
to gather them all."""
_TRIES = 100
"""How often a row may change between being read and being written."""
_MARGIN_S = 60
_LONGEST_TTL_S = 10 * 365 * 86_400
"""A TTL may not go beyond what old servers can count to; rows of a later expiry have none."""
_STAMP_BYTES = 8


def open_cassandra(address: StoreAddress, clock: Clock) -> CassandraStore:
    """The store that an address names; StorageError where no server of it answers."""
    return CassandraStore(connect(address), clock)


class CassandraStore:
    """Rows in a cluster of servers."""

    def __init__(self, cluster: CassandraCluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lock = Lock()
        self._last_stamp = 0

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        check_keys(keys)
        now_ms = self._clock.now_ms()
        if space is Space.PAGES:
            stored = self._pages(list(dict.fromkeys(keys)))
            return [self._value(space, stored.get(key), now_ms) for key in keys]
        statement = self._cluster.statement("SELECT record FROM {table} WHERE {key}", space)
        found = self._cluster.asked([(statement, _place(space, key)) for key in keys])
        return [self._value(space, _only(rows), now_ms) for rows in found]

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        check_rows(rows)
        now_ms = self._clock.now_ms()
        if space in UNCONDITIONAL:
            self._write(
                space,
                [
                    (
                        row.key,
                        encoded(row.value, row.version, row.expires_at_ms),
                        row.version,
                        _ttl(row.expires_at_ms, now_ms),
                    )
                    for row in rows
                ],
            )
            return
        for row in rows:
            old = self._record_of(space, row.key, serial=False)
            for _ in range(_TRIES):
                if old is not None and self._head(old)[0] > row.version:
                    break
                record = encoded(row.value, row.version, row.expires_at_ms)
                is_set, old = self._replaced(space, row.key, old, record, row.expires_at_ms)
                if is_set:
                    break
            else:
                raise self._cluster.fault("a row changes again and again")

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        check_keys(keys)
        if space not in UNCONDITIONAL:
            statement = self._cluster.statement("DELETE FROM {table} WHERE {key} IF EXISTS", space)
            self._cluster.asked([(statement, _place(space, key)) for key in keys])
            return
        # To delete at a timestamp would forbid the version for good; a row without a record does
        # not. It needs the version that is there.
        now_ms = self._clock.now_ms()
        statement = self._cluster.statement("SELECT record FROM {table} WHERE {key}", space)
        found = self._cluster.asked([(statement, _place(space, key)) for key in keys])
        gone = []
        for key, rows in zip(keys, found, strict=True):
            record = self._unstamped(space, _only(rows))
            if record is not None:
                version, expires = self._head(record)
                ttl = _ttl(None if expires == NEVER else expires, now_ms)
                gone.append((key, b"", version, ttl and ttl + 1))
        self._write(space, gone)

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        check_scan(prefix, limit)
        if space is Space.PAGES:
            raise UsageError(f"{self._cluster.address}: pages are looked up, not scanned")
        now_ms = self._clock.now_ms()
        end = end_of_prefix(prefix)
        buckets = _buckets(space)
        # keys are dealt to the buckets evenly, so that each has about as many of the next
        each = limit // buckets * 2 + 10
        statement = self._cluster.statement(
            "SELECT key, record FROM {table} WHERE bucket = ? AND key >= ?"
            f"{'' if end is None else ' AND key < ?'} LIMIT ?",
            space,
        )
        begin = max(prefix, after + b"\0") if after else prefix
        while True:
            bounds = (begin,) if end is None else (begin, end)
            pages = self._cluster.asked(
                [(statement, (bucket, *bounds, each)) for bucket in range(buckets)]
            )
            # beyond the last key of a bucket that has more, its keys are not known yet
            ends = [page[-1][0] for page in pages if len(page) == each]
            last = min(ends, default=None)
            found = sorted(
                (key, record)
                for page in pages
                for key, record in page
                if last is None or key <= last
            )
            rows: list[Row] = []
            for key, stored in found:
                value = self._value(space, stored, now_ms)
                record = self._unstamped(space, stored)
                if value is not None and record is not None:
                    version, expires = self._head(record)
                    rows.append(Row(key, value, version, expires or None))
            if rows or last is None:
                return rows[:limit]
            begin = last + b"\0"

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
        old = self._record_of(space, key, serial=True)
        for _ in range(_TRIES):
            if self._value(space, old, now_ms) != expected:
                return False
            if value is None:
                record = None
            else:
                version = 0 if old is None else self._head(old)[0] + 1
                record = encoded(value, version, expires_at_ms)
            is_set, old = self._replaced(space, key, old, record, expires_at_ms)
            if is_set:
                return True
        raise self._cluster.fault("a row changes again and again")

    def check(self) -> None:
        self.get_many(Space.STATE, [b"check"])

    def stats(self) -> StoreStats:
        return self._cluster.stats()

    def close(self) -> None:
        self._cluster.close()

    def _write(self, space: Space, records: Sequence[tuple[bytes, bytes, int, int]]) -> None:
        """Stores keys, records, timestamps and TTLs."""
        update = "UPDATE {table} USING TIMESTAMP ? AND TTL ? SET record = ? WHERE {key}"
        statement = self._cluster.statement(update, space)
        self._cluster.asked(
            [
                (statement, (version, ttl, self._stamp() + record, *_place(space, key)))
                for key, record, version, ttl in records
            ]
        )

    def _stamp(self) -> bytes:
        """Bytes before a record that are larger than those of all earlier puts."""
        with self._lock:
            now = self._clock.now_ms() * 1000
            self._last_stamp = max(self._last_stamp + 1, now)
            return self._last_stamp.to_bytes(_STAMP_BYTES, "big")

    def _pages(self, keys: Sequence[bytes]) -> dict[bytes, bytes | None]:
        """What is stored of pages. Some are asked for at once: to say it of each costs us, and the
        server that we ask, more than it costs that server to gather them."""
        statement = self._cluster.statement(
            "SELECT key, record FROM {table} WHERE key IN ?", Space.PAGES
        )
        asked = [(statement, (list(part),)) for part in in_parts(keys, _KEYS_AT_ONCE)]
        return {key: record for rows in self._cluster.asked(asked) for key, record in rows}

    def _record_of(self, space: Space, key: bytes, *, serial: bool) -> bytes | None:
        """The record of a row that is written on conditions; where that matters the one that all
        conditions of others have led to."""
        statement = self._cluster.statement(
            "SELECT record FROM {table} WHERE {key}", space, is_serial=serial
        )
        (rows,) = self._cluster.asked([(statement, _place(space, key))])
        return _only(rows)

    def _replaced(
        self,
        space: Space,
        key: bytes,
        old: bytes | None,
        new: bytes | None,
        expires_at_ms: int | None,
    ) -> tuple[bool, bytes | None]:
        """Whether the record was the old one, and became the new; else the one that is there."""
        if new is None:
            if old is None:
                return True, None
            statement = self._cluster.statement(
                "DELETE FROM {table} WHERE {key} IF record = ?", space
            )
            given = (*_place(space, key), old)
        else:
            ttl = _ttl(expires_at_ms, self._clock.now_ms())
            statement = self._cluster.statement(
                "UPDATE {table} USING TTL ? SET record = ? WHERE {key} IF record = ?", space
            )
            given = (ttl, new, *_place(space, key), old)
        (rows,) = self._cluster.asked([(statement, given)], is_asked_again=False)
        is_applied, *there = rows[0]
        return bool(is_applied), there[0] if there else None

    def _value(self, space: Space, stored: bytes | None, now_ms: int) -> bytes | None:
        record = self._unstamped(space, stored)
        if record is None:
            return None
        try:
            return value_of(record, now_ms)
        except DamagedRecord as error:
            raise DamagedStore(str(self._cluster.fault(error))) from error

    def _unstamped(self, space: Space, stored: bytes | None) -> bytes | None:
        """The record of what is stored; None where it was deleted."""
        if stored is None or space not in UNCONDITIONAL:
            return stored
        return stored[_STAMP_BYTES:] or None

    def _head(self, record: bytes) -> tuple[int, int]:
        try:
            return head_of(record)
        except DamagedRecord as error:
            raise DamagedStore(str(self._cluster.fault(error))) from error


def _buckets(space: Space) -> int:
    return _BUCKETS.get(space, _FEW)


def _place(space: Space, key: bytes) -> tuple[object, ...]:
    """What tells the row: its key, with the bucket where there are any."""
    if space is Space.PAGES:
        return (key,)
    digest = blake2b(key, digest_size=8).digest()
    return int.from_bytes(digest, "big") % _buckets(space), key


def _only(rows: Sequence[Any]) -> bytes | None:
    """The record of the one row that there may be."""
    record: bytes | None = rows[0][0] if rows else None
    return record


def _ttl(expires_at_ms: int | None, now_ms: int) -> int:
    """For how many seconds servers keep a row; 0 for always."""
    if expires_at_ms is None:
        return 0
    seconds = max(0, expires_at_ms - now_ms) // 1000 + _MARGIN_S
    return seconds if seconds <= _LONGEST_TTL_S else 0
