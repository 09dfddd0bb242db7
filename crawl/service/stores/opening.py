"""Opens the store that an address names:

memory:                                      nothing is kept
lmdb:PATH                                    a folder of this machine
redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=nutria&timeout=5&connections=32]
rediss://…?ca=FILE                           the same by TLS; also valkey:// and valkeys://
cassandra://[USER:PASSWORD@]HOST[,HOST…][:PORT]/KEYSPACE[?…]
    replication=3 or DC1:3,DC2:3   where the keyspace is made; dc=NAME   the nearest data centre
    create=no                      keyspace and tables are made by somebody else
    tls=yes   ca=FILE   timeout=5

`ca` names a file of the authorities that are trusted; without it those of the system are.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from crawl.clock import Clock
from crawl.did_you_mean import did_you_mean
from crawl.errors import EnvironmentFault, UsageError
from crawl.hints import install
from crawl.printable import printable
from crawl.service.stores.address import StoreAddress, parse_address
from crawl.service.stores.store import Store


def open_store(url: str, clock: Clock) -> Store:
    """The store, which is made where there is none. UsageError where the address is wrong,
    EnvironmentFault where its package is not installed, StorageError where it cannot be reached."""
    address = parse_address(url)
    opened = _SCHEMES.get(address.scheme)
    if opened is None:
        raise UsageError(
            f"no store has addresses with {printable(address.scheme, 40)}:"
            f"{did_you_mean(address.scheme, _SCHEMES)}; there are {', '.join(_SCHEMES)}"
        )
    return opened(address, clock)


def _memory(address: StoreAddress, clock: Clock) -> Store:
    from crawl.service.stores.memory import MemoryStore

    address.check_options(())
    if address.hosts or address.path:
        raise UsageError(f"{address}: the store in memory is memory: alone")
    return MemoryStore(clock)


def _lmdb(address: StoreAddress, clock: Clock) -> Store:
    _require("lmdb", address, "serve")
    from crawl.service.stores.lmdb import LmdbStore

    address.check_options(())
    if address.hosts or not address.path:
        raise UsageError(f"{address}: give the folder, as in lmdb:PATH")
    return LmdbStore(Path(address.path), clock)


def _redis(address: StoreAddress, clock: Clock) -> Store:
    _require("redis", address, "redis")
    from crawl.service.stores.adapters.redis import open_redis

    return open_redis(address, clock)


def _cassandra(address: StoreAddress, clock: Clock) -> Store:
    _require("cassandra", address, "cassandra")
    from cassandra import DependencyException

    try:
        from crawl.service.stores.adapters.cassandra import open_cassandra
    except DependencyException as error:
        raise EnvironmentFault(
            f"{address}: the package cassandra-driver lacks its event loop, libev: {error}"
        ) from error

    return open_cassandra(address, clock)


def _require(package: str, address: StoreAddress, extra: str) -> None:
    try:
        import_module(package)
    except ImportError:
        raise EnvironmentFault(f"{address} needs the package {package}: {install(extra)}") from None


_SCHEMES: dict[str, Callable[[StoreAddress, Clock], Store]] = {
    "lmdb": _lmdb,
    "memory": _memory,
    "redis": _redis,
    "rediss": _redis,
    "valkey": _redis,
    "valkeys": _redis,
    "cassandra": _cassandra,
}
