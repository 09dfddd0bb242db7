from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.errors import EnvironmentFault, UsageError
from crawl.service.stores.address import parse_address
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.opening import open_store


def test_stores_of_this_machine(tmp_path: Path) -> None:
    assert isinstance(open_store("memory:", SystemClock()), MemoryStore)
    store = open_store(f"lmdb:{tmp_path}/a folder", SystemClock())
    assert isinstance(store, LmdbStore)
    assert (tmp_path / "a folder" / "data.mdb").exists()
    assert store.stats().store == f"lmdb:{tmp_path}/a folder"
    store.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("reddis://h/0", r"no store has addresses with reddis: \(did you mean 'redis'\?\)"),
        ("sqlite:x", "there are lmdb, memory, redis, rediss, valkey, valkeys, cassandra"),
        ("", "is no address of a store"),
        ("just/a/path", "is no address of a store"),
        ("redis://h\n/0", "is no address of a store"),
        ("redis://h/0?" + "a" * 5000, "is no address of a store"),
        ("redis://user:secret@h\x1b[31m/", r"'redis://\*\*\*@h"),
        ("redis://user:secret@h:99999/0", "'h:99999' is no HOST or HOST:PORT"),
        ("redis://user:secret@/0", "'' is no HOST or HOST:PORT"),
        ("redis:/0", "give one host"),
        ("redis://h/0?timeout", "options are given as"),
        ("lmdb:", "give the folder"),
        ("lmdb://host/path", "give the folder"),
        ("lmdb:x?size=3", "no option 'size'; there are: none"),
        ("memory:x", "memory: alone"),
        ("cassandra:keyspace", "give a host"),
        ("cassandra://h", "give a keyspace"),
        ("cassandra://h/1bad", "give a keyspace"),
        ("cassandra://h/k;drop", "give a keyspace"),
        ("cassandra://h:1,g:2/k", "one port"),
        ("cassandra://h/k?replication=many", "replication"),
        ("cassandra://h/k?replication=dc1:x", "replication"),
        ("cassandra://h/k?replication=0", "replication"),
        ("cassandra://h/k?tls=perhaps", "give yes or no"),
        ("cassandra://h/k?dc='", "dc"),
    ],
)
def test_wrong_addresses_are_one_line_without_secrets(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_store(url, SystemClock())
    said = str(caught.value)
    assert said.isprintable() and "secret" not in said and len(said) < 400


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("redis://u:secret@h/0", "redis", "redis"),
        ("cassandra://u:secret@h/k", "cassandra", "cassandra"),
        ("lmdb:x", "lmdb", "serve"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EnvironmentFault, match=rf"needs the package {package}: .*\[{extra}\]"):
        open_store(url, SystemClock())


def test_an_address_has_its_parts() -> None:
    address = parse_address("cassandra://me:p%40ss:w@a.example,[::1]:9042/nutria?dc=x%20y&tls=yes")
    assert address.hosts == (("a.example", None), ("::1", 9042))
    assert (address.user, address.password, address.path) == ("me", "p@ss:w", "nutria")
    assert dict(address.options) == {"dc": "x y", "tls": "yes"}
    assert str(address) == "cassandra://***@a.example,[::1]:9042/nutria"
    assert "p@ss" not in repr(address)
