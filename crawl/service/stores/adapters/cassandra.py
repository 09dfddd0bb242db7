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

import re
import ssl
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

from cassandra import ConsistencyLevel, DriverException
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.concurrent import execute_concurrent
from cassandra.connection import ConnectionException
from cassandra.policies import (
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import tuple_factory

from crawl.clock import Clock
from crawl.errors import StorageError, UsageError
from crawl.masking import MARK, masked_text
from crawl.printable import one_line, printable
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

_PORT = 9042
_OPTIONS = ("ca", "create", "dc", "replication", "timeout", "tls")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_DATA_CENTRE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_REPLICAS = 3
_BUCKETS = {Space.JOBS: 1024, Space.ROBOTS: 256, Space.LEASES: 256}
"""Partitions of a space, as many as its rows need, and as those who write on conditions at the
same time, who wait for each other within one. A part of the tables' layout: never to be changed."""
_FEW = 16
_FAULTS = (DriverException, NoHostAvailable, ConnectionException, OSError)
"""What the driver raises; of connections also by errors that are none of its family."""
_CONCURRENCY = 64
"""Requests of one call that are on their way at a time."""
_KEYS_AT_ONCE = 20
"""Pages of one request. Scylla takes 100, and where rows are as large as they may be, a server has
to gather them all."""
_TRIES = 100
"""How often a row may change between being read and being written."""
_MARGIN_S = 60
_LONGEST_TTL_S = 10 * 365 * 86_400
"""A TTL may not go beyond what old servers can count to; rows of a later expiry have none."""
_STAMP_BYTES = 8
_ALL = "all"

_RECONNECT_S = 1.0
"""So often a server that is down is looked for: the driver's own policy waits for up to ten minutes
by then, and the service would."""
_ONCE = "once"
"""The profile of what must not be asked a second time."""

_Statement = tuple[Any, tuple[object, ...]]


class _Never(RetryPolicy):  # type: ignore[misc]
    """Asks no second time. The driver's own policy asks the next server where a connection broke:
    a condition that had been met by then would be found not to be, and whoever has set the value
    would be told that somebody else did."""

    def on_read_timeout(self, *_: object, **__: object) -> tuple[int, None]:
        return self.RETHROW, None

    def on_write_timeout(self, *_: object, **__: object) -> tuple[int, None]:
        return self.RETHROW, None

    def on_unavailable(self, *_: object, **__: object) -> tuple[int, None]:
        return self.RETHROW, None

    def on_request_error(self, *_: object, **__: object) -> tuple[int, None]:
        return self.RETHROW, None


def open_cassandra(address: StoreAddress, clock: Clock) -> CassandraStore:
    """The store that an address names; StorageError where no server of it answers."""
    address.check_options(_OPTIONS)
    if not address.hosts:
        raise UsageError(f"{address}: give a host, as in cassandra://HOST/KEYSPACE")
    if _NAME.fullmatch(address.path) is None:
        raise UsageError(f"{address}: give a keyspace of letters, digits and _")
    if len({port for _, port in address.hosts if port is not None}) > 1:
        raise UsageError(f"{address}: all hosts have one port")
    data_centre = address.options.get("dc", "")
    if data_centre and _DATA_CENTRE.fullmatch(data_centre) is None:
        raise UsageError(
            f"{address}: dc is {printable(data_centre, 60)!r}, no name of a data centre"
        )
    authority, is_secure = address.file("ca"), address.flag("tls", False)
    if authority and not is_secure:
        raise UsageError(f"{address}: ca is for TLS: add tls=yes")
    return CassandraStore(
        address,
        clock,
        authority=authority,
        replication=_replication(address),
        data_centre=data_centre,
        may_create=address.flag("create", True),
        is_secure=is_secure,
        timeout_s=address.number("timeout", 5, 0.1, 300),
    )


class CassandraStore:
    """Rows in a cluster of servers."""

    def __init__(
        self,
        address: StoreAddress,
        clock: Clock,
        *,
        replication: Mapping[str, int] | None = None,
        data_centre: str = "",
        may_create: bool = True,
        is_secure: bool = False,
        authority: str = "",
        timeout_s: float = 5,
    ) -> None:
        self._address = address
        self._clock = clock
        self._timeout_s = timeout_s
        self._keyspace = address.path.lower()
        self._lock = Lock()
        self._prepared: dict[str, Any] = {}
        self._last_stamp = 0
        self._is_closed = False

        def profile(retry: RetryPolicy) -> ExecutionProfile:
            return ExecutionProfile(
                load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(data_centre)),
                retry_policy=retry,
                consistency_level=ConsistencyLevel.LOCAL_QUORUM,
                serial_consistency_level=ConsistencyLevel.SERIAL,
                request_timeout=timeout_s,
                row_factory=tuple_factory,
            )

        ports = [port for _, port in address.hosts if port is not None]
        self._cluster = Cluster(
            [host for host, _ in address.hosts],
            port=ports[0] if ports else _PORT,
            auth_provider=PlainTextAuthProvider(address.user, address.password)
            if address.user
            else None,
            ssl_context=ssl.create_default_context(cafile=authority or None) if is_secure else None,
            execution_profiles={
                EXEC_PROFILE_DEFAULT: profile(RetryPolicy()),
                _ONCE: profile(_Never()),
            },
            reconnection_policy=ConstantReconnectionPolicy(_RECONNECT_S, max_attempts=None),
            connect_timeout=timeout_s,
            control_connection_timeout=timeout_s,
        )
        try:
            self._session: Session = self._cluster.connect()
            if may_create:
                self._create(replication)
        except _FAULTS as error:
            self._cluster.shutdown()
            raise self._fault(error) from error

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        check_keys(keys)
        now_ms = self._clock.now_ms()
        if space is Space.PAGES:
            stored = self._pages(list(dict.fromkeys(keys)))
            return [self._value(space, stored.get(key), now_ms) for key in keys]
        statement = self._statement("SELECT record FROM {table} WHERE {key}", space)
        found = self._asked([(statement, _place(space, key)) for key in keys])
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
                raise self._fault("a row changes again and again")

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        check_keys(keys)
        if space not in UNCONDITIONAL:
            statement = self._statement("DELETE FROM {table} WHERE {key} IF EXISTS", space)
            self._asked([(statement, _place(space, key)) for key in keys])
            return
        # To delete at a timestamp would forbid the version for good; a row without a record does
        # not. It needs the version that is there.
        now_ms = self._clock.now_ms()
        statement = self._statement("SELECT record FROM {table} WHERE {key}", space)
        found = self._asked([(statement, _place(space, key)) for key in keys])
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
            raise UsageError(f"{self._address}: pages are looked up, not scanned")
        now_ms = self._clock.now_ms()
        end = end_of_prefix(prefix)
        buckets = _buckets(space)
        # keys are dealt to the buckets evenly, so that each has about as many of the next
        each = limit // buckets * 2 + 10
        statement = self._statement(
            "SELECT key, record FROM {table} WHERE bucket = ? AND key >= ?"
            f"{'' if end is None else ' AND key < ?'} LIMIT ?",
            space,
        )
        begin = max(prefix, after + b"\0") if after else prefix
        while True:
            bounds = (begin,) if end is None else (begin, end)
            pages = self._asked([(statement, (bucket, *bounds, each)) for bucket in range(buckets)])
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
        raise self._fault("a row changes again and again")

    def stats(self) -> StoreStats:
        """Servers do not know how many rows they have."""
        self._check_open()
        keyspace = self._cluster.metadata.keyspaces.get(self._keyspace)
        options = keyspace.replication_strategy.export_for_schema() if keyspace else ""
        counts = [int(count) for count in re.findall(r": '(\d+)'", options)]
        warnings = []
        if counts and min(counts) < _REPLICAS:
            warnings.append(
                f"rows have {min(counts)} replica{'' if min(counts) == 1 else 's'}: with fewer than"
                f" {_REPLICAS} the death of a server stops the service"
            )
        if self._commit_log() == "periodic":
            warnings.append(
                "servers acknowledge what is not in their commit log yet: one that is killed"
                " forgets the last moments; set `commitlog_sync: group`"
            )
        return StoreStats(str(self._address), warnings=tuple(warnings))

    def _commit_log(self) -> str:
        """How a server writes its commit log; empty where it does not say."""
        try:
            row = self._session.execute(
                "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"
            ).one()
        except _FAULTS:
            return ""  # no right to ask, or a server without such a table
        return str(row[0]) if row else ""

    def check(self) -> None:
        self.get_many(Space.STATE, [b"check"])

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._cluster.shutdown()

    def _create(self, replication: Mapping[str, int] | None) -> None:
        """Makes what is missing of keyspace and tables."""
        keyspace = self._cluster.metadata.keyspaces.get(self._keyspace)
        if keyspace is None:
            present: dict[str, int] = {}
            for host in self._cluster.metadata.all_hosts():
                present[host.datacenter] = present.get(host.datacenter, 0) + 1
            wanted = replication or {name: min(_REPLICAS, count) for name, count in present.items()}
            if _ALL in wanted:
                wanted = dict.fromkeys(present, wanted[_ALL])
            places = "".join(f", '{name}': {count}" for name, count in sorted(wanted.items()))
            self._session.execute(
                f"CREATE KEYSPACE IF NOT EXISTS {self._keyspace} WITH replication ="
                f" {{'class': 'NetworkTopologyStrategy'{places}}}",
                timeout=self._timeout_s * 4,
            )
        present_tables = () if keyspace is None else keyspace.tables
        for space in Space:
            if space.value not in present_tables:
                columns = (
                    "key blob PRIMARY KEY, record blob"
                    if space is Space.PAGES
                    else "bucket smallint, key blob, record blob, PRIMARY KEY (bucket, key)"
                )
                self._session.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._keyspace}.{space} ({columns})",
                    timeout=self._timeout_s * 4,
                )

    def _write(self, space: Space, records: Sequence[tuple[bytes, bytes, int, int]]) -> None:
        """Stores keys, records, timestamps and TTLs."""
        update = "UPDATE {table} USING TIMESTAMP ? AND TTL ? SET record = ? WHERE {key}"
        statement = self._statement(update, space)
        self._asked(
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
        statement = self._statement("SELECT key, record FROM {table} WHERE key IN ?", Space.PAGES)
        asked = [(statement, (list(part),)) for part in in_parts(keys, _KEYS_AT_ONCE)]
        return {key: record for rows in self._asked(asked) for key, record in rows}

    def _record_of(self, space: Space, key: bytes, *, serial: bool) -> bytes | None:
        """The record of a row that is written on conditions; where that matters the one that all
        conditions of others have led to."""
        statement = self._statement(
            "SELECT record FROM {table} WHERE {key}", space, is_serial=serial
        )
        (rows,) = self._asked([(statement, _place(space, key))])
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
            statement = self._statement("DELETE FROM {table} WHERE {key} IF record = ?", space)
            given = (*_place(space, key), old)
        else:
            ttl = _ttl(expires_at_ms, self._clock.now_ms())
            statement = self._statement(
                "UPDATE {table} USING TTL ? SET record = ? WHERE {key} IF record = ?", space
            )
            given = (ttl, new, *_place(space, key), old)
        (rows,) = self._asked([(statement, given)], _ONCE)
        is_applied, *there = rows[0]
        return bool(is_applied), there[0] if there else None

    def _statement(self, template: str, space: Space, *, is_serial: bool = False) -> Any:
        """The statement for the space's table, prepared once."""
        self._check_open()
        key = "key = ?" if space is Space.PAGES else "bucket = ? AND key = ?"
        text = template.format(table=f"{self._keyspace}.{space}", key=key)
        name = f"serial {text}" if is_serial else text
        with self._lock:
            found = self._prepared.get(name)
        if found is None:
            try:
                found = self._session.prepare(text)
            except _FAULTS as error:
                raise self._fault(error) from error
            if is_serial:
                found.consistency_level = ConsistencyLevel.SERIAL
            with self._lock:
                self._prepared[name] = found
        return found

    def _asked(
        self, statements: Sequence[_Statement], profile: object = EXEC_PROFILE_DEFAULT
    ) -> list[list[Any]]:
        """The rows that each statement brings."""
        self._check_open()
        try:
            results = execute_concurrent(
                self._session, statements, concurrency=_CONCURRENCY, execution_profile=profile
            )
            return [list(result.result_or_exc) for result in results]
        except _FAULTS as error:
            raise self._fault(error) from error

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageError(f"{self._address} is closed")

    def _value(self, space: Space, stored: bytes | None, now_ms: int) -> bytes | None:
        record = self._unstamped(space, stored)
        if record is None:
            return None
        try:
            return value_of(record, now_ms)
        except DamagedRecord as error:
            raise DamagedStore(str(self._fault(error))) from error

    def _unstamped(self, space: Space, stored: bytes | None) -> bytes | None:
        """The record of what is stored; None where it was deleted."""
        if stored is None or space not in UNCONDITIONAL:
            return stored
        return stored[_STAMP_BYTES:] or None

    def _head(self, record: bytes) -> tuple[int, int]:
        try:
            return head_of(record)
        except DamagedRecord as error:
            raise DamagedStore(str(self._fault(error))) from error

    def _fault(self, error: object) -> StorageError:
        said = str(error) or type(error).__name__
        if self._address.password:
            said = said.replace(self._address.password, MARK)
        return StorageError(f"{self._address}: {one_line(masked_text(said), 300)}")


def _replication(address: StoreAddress) -> Mapping[str, int] | None:
    """How many replicas each data centre is to have, as `3` (all of them) or `DC1:3,DC2:2`."""
    given = address.options.get("replication")
    if given is None:
        return None
    found: dict[str, int] = {}
    for part in given.split(","):
        name, colon, count = part.rpartition(":")
        if not colon:
            name = _ALL
        if not (_DATA_CENTRE.fullmatch(name) and re.fullmatch("[1-9][0-9]?", count)):
            raise UsageError(
                f"{address}: replication is {printable(given, 60)!r}; give a number, or"
                " DATACENTRE:NUMBER,…"
            )
        found[name] = int(count)
    return found


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
