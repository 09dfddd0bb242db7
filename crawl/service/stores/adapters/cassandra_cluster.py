"""Connections to a cluster of servers that speak Cassandra's language, the tables of the store in
it, and what becomes of the faults of the driver.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
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

from crawl.errors import StorageError, UsageError
from crawl.masking import MARK, masked_text
from crawl.printable import one_line, printable
from crawl.service.stores.address import StoreAddress
from crawl.service.stores.store import Space, StoreStats

_PORT = 9042
_OPTIONS = ("ca", "create", "dc", "replication", "timeout", "tls")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_DATA_CENTRE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_REPLICAS = 3
_FAULTS = (DriverException, NoHostAvailable, ConnectionException, OSError)
"""What the driver raises; of connections also by errors that are none of its family."""
_CONCURRENCY = 64
"""Requests of one call that are on their way at a time."""
_ALL = "all"

_RECONNECT_S = 1.0
"""So often a server that is down is looked for: the driver's own policy waits for up to ten minutes
by then, and the service would."""
_ONCE = "once"
"""The profile of what must not be asked a second time."""

Statement = tuple[Any, tuple[object, ...]]
"""A prepared statement with its values."""


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


def connect(address: StoreAddress) -> CassandraCluster:
    """The servers that an address names; StorageError where none of them answers."""
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
    return CassandraCluster(
        address,
        authority=authority,
        replication=_replication(address),
        data_centre=data_centre,
        may_create=address.flag("create", True),
        is_secure=is_secure,
        timeout_s=address.number("timeout", 5, 0.1, 300),
    )


class CassandraCluster:
    """Asks servers."""

    def __init__(
        self,
        address: StoreAddress,
        *,
        replication: Mapping[str, int] | None = None,
        data_centre: str = "",
        may_create: bool = True,
        is_secure: bool = False,
        authority: str = "",
        timeout_s: float = 5,
    ) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._keyspace = address.path.lower()
        self._lock = Lock()
        self._prepared: dict[str, Any] = {}
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
            raise self.fault(error) from error

    def statement(self, template: str, space: Space, *, is_serial: bool = False) -> Any:
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
                raise self.fault(error) from error
            if is_serial:
                found.consistency_level = ConsistencyLevel.SERIAL
            with self._lock:
                self._prepared[name] = found
        return found

    def asked(
        self, statements: Sequence[Statement], *, is_asked_again: bool = True
    ) -> list[list[Any]]:
        """The rows that each statement brings; where a connection breaks, it may be asked of the
        next server."""
        self._check_open()
        profile = EXEC_PROFILE_DEFAULT if is_asked_again else _ONCE
        try:
            results = execute_concurrent(
                self._session, statements, concurrency=_CONCURRENCY, execution_profile=profile
            )
            return [list(result.result_or_exc) for result in results]
        except _FAULTS as error:
            raise self.fault(error) from error

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageError(f"{self.address} is closed")

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
        return StoreStats(str(self.address), warnings=tuple(warnings))

    def _commit_log(self) -> str:
        """How a server writes its commit log; empty where it does not say."""
        try:
            row = self._session.execute(
                "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"
            ).one()
        except _FAULTS:
            return ""  # no right to ask, or a server without such a table
        return str(row[0]) if row else ""

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._cluster.shutdown()

    def fault(self, error: object) -> StorageError:
        """What is told of an error: without the password."""
        said = str(error) or type(error).__name__
        if self.address.password:
            said = said.replace(self.address.password, MARK)
        return StorageError(f"{self.address}: {one_line(masked_text(said), 300)}")

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
