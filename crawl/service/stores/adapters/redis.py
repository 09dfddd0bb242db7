"""The store in a Redis or Valkey server, for services of several machines.

A row is a string under `PREFIX:SPACE:KEY`, with its version before its value: scripts compare
versions where the data lies. All spaces but the pages have a sorted set of their keys, which scans
go through, and one of their expiries; whoever writes removes from both what has expired. Redis
removes the rows themselves a minute after that, by its own clock.

One server with its replicas, not a cluster: a script touches a row and its space's sets together.
What is acknowledged is as durable as the server is set to be (`StoreStats.warnings` tells).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from crawl.clock import Clock
from crawl.errors import StorageError, UsageError
from crawl.masking import masked_text
from crawl.printable import one_line
from crawl.service.stores.address import StoreAddress
from crawl.service.stores.record import DamagedRecord, encoded, head_of, value_of
from crawl.service.stores.store import (
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

_PORT = 6379
_OPTIONS = ("ca", "connections", "prefix", "timeout")
_SECURE = ("rediss", "valkeys")
_RETRIES = 3
_MARGIN_MS = 60_000
"""For how long the server keeps a row that expired, as its clock may be another."""
_ROWS = 200
"""Rows in a script, while which the server answers nobody else."""
_KEYS = 1000
_SWEPT = 2
"""Rows that leave the sets of their space for each that is written, if so many have expired."""

# Version and expiry are unsigned numbers of eight bytes, which Lua's own cannot hold.
_COMMON = """
local function is_larger(one, other)
    local high, low = struct.unpack('>I4I4', one)
    local other_high, other_low = struct.unpack('>I4I4', other)
    return high > other_high or (high == other_high and low > other_low)
end
local function store(row, name, record, live_ms, keys, expiries, expires)
    if live_ms == '' then
        redis.call('SET', row, record)
    else
        redis.call('SET', row, record, 'PX', live_ms)
    end
    if keys ~= '' then
        redis.call('ZADD', keys, 0, name)
        if expires == '' then
            redis.call('ZREM', expiries, name)
        else
            redis.call('ZADD', expiries, expires, name)
        end
    end
end
local function sweep(keys, expiries, now, most)
    if keys == '' then return end
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, most)) do
        redis.call('ZREM', keys, name)
        redis.call('ZREM', expiries, name)
    end
end
"""
# KEYS: the space's keys and expiries (or one empty name), then the rows.
# ARGV: now, how many to sweep, then of each row name, record, how long it lives, when it expires.
_PUT = (
    _COMMON
    + """
local keys, expiries = KEYS[1], KEYS[2]
sweep(keys, expiries, ARGV[1], tonumber(ARGV[2]))
for at = 3, #KEYS do
    local first = 3 + (at - 3) * 4
    local old = redis.call('GETRANGE', KEYS[at], 0, 7)
    local record = ARGV[first + 1]
    if #old < 8 or not is_larger(old, record) then
        store(KEYS[at], ARGV[first], record, ARGV[first + 2], keys, expiries, ARGV[first + 3])
    end
end
return #KEYS
"""
)
# ARGV: now as a number and as eight bytes, name, whether one is expected, which, whether there is a
# new one, its record from the expiry on, how long it lives, when it expires.
_SET = (
    _COMMON
    + """
local keys, expiries, row = KEYS[1], KEYS[2], KEYS[3]
local now, now_bytes, name = ARGV[1], ARGV[2], ARGV[3]
local old = redis.call('GET', row)
local version = string.rep(string.char(0), 8)
local found = nil
if old then
    local high, low = struct.unpack('>I4I4', old)
    low = low + 1
    if low == 4294967296 then high, low = high + 1, 0 end
    version = struct.pack('>I4I4', high, low)
    local expires = string.sub(old, 9, 16)
    local never = string.rep(string.char(0), 8)
    if expires == never or is_larger(expires, now_bytes) then found = string.sub(old, 21) end
end
if ARGV[4] == '0' then
    if found then return 0 end
elseif found ~= ARGV[5] then
    return 0
end
if ARGV[6] == '0' then
    redis.call('DEL', row)
    redis.call('ZREM', keys, name)
    redis.call('ZREM', expiries, name)
else
    store(row, name, version .. ARGV[7], ARGV[8], keys, expiries, ARGV[9])
end
sweep(keys, expiries, now, 2)
return 1
"""
)
_DELETE = """
for at = 3, #KEYS do
    redis.call('DEL', KEYS[at])
    if KEYS[1] ~= '' then
        redis.call('ZREM', KEYS[1], ARGV[at - 2])
        redis.call('ZREM', KEYS[2], ARGV[at - 2])
    end
end
return 1
"""


def open_redis(address: StoreAddress, clock: Clock) -> RedisStore:
    """The store that an address names; StorageError where its server does not answer."""
    address.check_options(_OPTIONS)
    if len(address.hosts) != 1:
        raise UsageError(f"{address}: give one host")
    if not (address.path or "0").isdecimal() or len(address.path) > 4:
        raise UsageError(f"{address}: the database is a number, as in redis://HOST:{_PORT}/0")
    authority = address.file("ca")
    if authority and address.scheme not in _SECURE:
        raise UsageError(f"{address}: ca is for TLS: use rediss:// or valkeys://")
    store = RedisStore(
        address,
        clock,
        authority=authority,
        prefix=address.options.get("prefix", "nutria"),
        timeout_s=address.number("timeout", 5, 0.1, 300),
        connections=int(address.number("connections", 32, 1, 10_000)),
    )
    try:
        store.check()
    except StorageError:
        store.close()
        raise
    return store


class RedisStore:
    """Rows in a server. What may be asked twice is, where the connection is lost; conditions are
    not, for the first time may have been heard."""

    def __init__(
        self,
        address: StoreAddress,
        clock: Clock,
        *,
        prefix: str = "nutria",
        timeout_s: float = 5,
        connections: int = 32,
        authority: str = "",
    ) -> None:
        self._name = str(address)
        self._secrets = tuple(filter(None, (address.password,)))
        self._clock = clock
        self._prefix = prefix.encode()
        self._is_closed = False

        def client(retry: Retry, most: int) -> redis.Redis:
            ((host, port),) = address.hosts
            secure: dict[str, Any] = {}
            if address.scheme in _SECURE:
                secure = {
                    "connection_class": redis.SSLConnection,
                    "ssl_cert_reqs": "required",
                    "ssl_check_hostname": True,
                    "ssl_ca_certs": authority or None,
                }
            pool: Any = redis.BlockingConnectionPool(  # type: ignore[no-untyped-call]
                host=host,
                port=port or _PORT,
                db=int(address.path or 0),
                username=address.user or None,
                password=address.password or None,
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                socket_keepalive=True,
                health_check_interval=30,
                retry=retry,
                max_connections=most,
                timeout=timeout_s,
                **secure,
            )
            return redis.Redis(connection_pool=pool)

        self._client = client(Retry(ExponentialBackoff(cap=1, base=0.05), _RETRIES), connections)
        self._once = client(Retry(NoBackoff(), 0), connections)
        self._put = self._client.register_script(_PUT)
        self._delete = self._client.register_script(_DELETE)
        self._set = self._once.register_script(_SET)

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        check_keys(keys)
        now_ms = self._clock.now_ms()
        names = [self._row(space, key) for key in keys]
        values: list[bytes | None] = []
        for part in in_parts(names, _KEYS):
            records: Any = self._asked(self._client.mget, part)
            values += [
                None if record is None else self._value(record, now_ms) for record in records
            ]
        return values

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        check_rows(rows)
        for part in in_parts(rows, _ROWS):
            now_ms = self._clock.now_ms()
            names = [*self._sets(space), *(self._row(space, row.key) for row in part)]
            given: list[Any] = [now_ms, _SWEPT * len(part)]
            for row in part:
                record = encoded(row.value, row.version, row.expires_at_ms)
                given += [row.key, record, *_expiry(row.expires_at_ms, now_ms)]
            self._asked(self._put, names, given)

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        check_keys(keys)
        for part in in_parts(keys, _ROWS):
            names = [*self._sets(space), *(self._row(space, key) for key in part)]
            self._asked(self._delete, names, part)

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        check_scan(prefix, limit)
        if space is Space.PAGES:
            raise UsageError(f"{self._name}: pages are looked up, not scanned")
        keys, _ = self._sets(space)
        now_ms = self._clock.now_ms()
        end = end_of_prefix(prefix)
        most = b"+" if end is None else b"(" + end
        rows: list[Row] = []
        while len(rows) < limit:
            least = b"(" + after if after >= prefix and after else b"[" + prefix
            wanted = min(limit - len(rows), _KEYS)
            found = self._asked(self._client.zrangebylex, keys, least, most, 0, wanted)
            if not found:
                break
            names = [self._row(space, key) for key in found]
            records = self._asked(self._client.mget, names)
            for key, record in zip(found, records, strict=True):
                value = None if record is None else self._value(record, now_ms)
                if value is not None:
                    version, expires = head_of(record)
                    rows.append(Row(key, value, version, expires or None))
            after = found[-1]
        return rows

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
        names = [*self._sets(space), self._row(space, key)]
        given = [
            now_ms,
            now_ms.to_bytes(8, "big"),
            key,
            *(("0", b"") if expected is None else ("1", expected)),
            *(("0", b"") if value is None else ("1", encoded(value, 0, expires_at_ms)[8:])),
            *_expiry(expires_at_ms, now_ms),
        ]
        return bool(self._asked(self._set, names, given))

    def stats(self) -> StoreStats:
        counted = [space for space in Space if space is not Space.PAGES]
        with self._client.pipeline(transaction=False) as pipeline:
            for space in counted:
                pipeline.zcard(self._sets(space)[0])
            pipeline.info("memory")
            *sizes, memory = self._asked(pipeline.execute)
        return StoreStats(
            self._name,
            dict(zip(counted, sizes, strict=True)),
            memory.get("used_memory"),
            self._warnings(memory),
        )

    def check(self) -> None:
        self._asked(self._client.ping)

    def close(self) -> None:
        self._is_closed = True
        for client in (self._client, self._once):
            client.connection_pool.disconnect()

    def _warnings(self, memory: dict[str, Any]) -> tuple[str, ...]:
        persistence = self._asked(self._client.info, "persistence")
        found = []
        if not persistence.get("aof_enabled"):
            found.append(
                "the server keeps no log: after its death what was acknowledged is lost; set"
                " `appendonly yes` and `appendfsync always`"
            )
        elif persistence.get("aof_last_write_status") != "ok":
            found.append("the server cannot write its log")
        elif (policy := self._log_policy()) not in ("", "always"):
            found.append(
                f"the server's log is on its disk after it has acknowledged (appendfsync {policy}):"
                " a power cut forgets the last moments; set `appendfsync always`"
            )
        policy = memory.get("maxmemory_policy", "noeviction")
        if memory.get("maxmemory") and policy != "noeviction":
            found.append(
                f"the server forgets rows when its memory is full (maxmemory-policy {policy}); set"
                " `noeviction`"
            )
        return tuple(found)

    def _log_policy(self) -> str:
        """When the server writes its log to the disk; empty where it does not say."""
        try:
            said: Any = self._client.config_get("appendfsync")
        except (redis.RedisError, OSError):
            return ""  # no right to ask
        return str(said.get("appendfsync", ""))

    def _asked(self, ask: Callable[..., Any], *given: Any) -> Any:
        if self._is_closed:
            raise StorageError(f"{self._name} is closed")
        try:
            return ask(*given)
        except (redis.RedisError, OSError) as error:
            raise self._fault(error) from error

    def _fault(self, error: object) -> StorageError:
        said = str(error)
        for secret in self._secrets:
            said = said.replace(secret, "***")
        return StorageError(f"{self._name}: {one_line(masked_text(said), 300)}")

    def _value(self, record: bytes, now_ms: int) -> bytes | None:
        try:
            return value_of(record, now_ms)
        except DamagedRecord as error:
            raise DamagedStore(str(self._fault(error))) from error

    def _row(self, space: Space, key: bytes) -> bytes:
        return b"%b:%b:%b" % (self._prefix, space.encode(), key)

    def _sets(self, space: Space) -> tuple[bytes, bytes]:
        """The sorted sets of the space's keys and expiries; none of pages, whose keys would take
        as much memory again."""
        if space is Space.PAGES:
            return b"", b""
        # no name of a row, whose spaces end in a colon
        return (
            b"%b:%b-keys" % (self._prefix, space.encode()),
            b"%b:%b-expiries" % (self._prefix, space.encode()),
        )


def _expiry(expires_at_ms: int | None, now_ms: int) -> tuple[object, object]:
    """For how many milliseconds the server is to keep a row, and when it expires; empty for
    always."""
    if expires_at_ms is None:
        return b"", b""
    return max(0, expires_at_ms - now_ms) + _MARGIN_MS, expires_at_ms
