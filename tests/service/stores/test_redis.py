from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from crawl.clock import Clock, SystemClock
from crawl.errors import StorageError, UsageError
from crawl.service.stores.opening import open_store
from crawl.service.stores.store import Row, Space, Store
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS, StoreContract
from tests.free_port import LOOPBACK, free_port
from tests.service.stores.processes import line_of, started, tell
from tests.service.stores.real_redis import RealRedis, make_certificate, running_redis

pytestmark = pytest.mark.slow

_COUNT = """
import sys
from crawl.clock import SystemClock
from crawl.service.stores.opening import open_store
from crawl.service.stores.store import Space
store = open_store(sys.argv[1], SystemClock())
print("ready", flush=True)
sys.stdin.readline()
for _ in range(100):
    while True:
        (old,) = store.get_many(Space.STATE, [b"n"])
        if store.compare_and_set(Space.STATE, b"n", old, b"%d" % (int(old or b"0") + 1)):
            break
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RealRedis]:
    with running_redis("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


class TestRedisStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, server: RealRedis) -> None:
        self.server = server

    def open(self, clock: Clock) -> Store:
        return open_store(self.server.url, clock)

    def opened_again(self, clock: Clock, store: Store) -> list[Store]:
        return [store, self.open(clock), self.open(clock)]

    def forget(self) -> None:
        self.server.client().flushall()


@pytest.fixture
def store(server: RealRedis) -> Iterator[Store]:
    server.client().flushall()
    store = open_store(server.url, SystemClock())
    yield store
    store.close()


def test_processes_count_on_one_value_and_none_is_lost(server: RealRedis, store: Store) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(started(_COUNT, server.url)) for _ in range(3)]
        for process in processes:
            assert line_of(process) == b"ready"
        for process in processes:
            tell(process)
        for process in processes:
            assert line_of(process) == b"done"
    assert store.get_many(Space.STATE, [b"n"]) == [b"300"]


def test_a_server_that_is_killed_has_what_was_acknowledged(server: RealRedis, store: Store) -> None:
    for turn in range(50):
        store.put_many(Space.PAGES, [Row(b"%d" % turn, b"%d" % turn, 1)])
    assert store.compare_and_set(Space.LEASES, b"d", None, b"me")
    server.kill()
    with pytest.raises(StorageError, match=f"redis://.*@{LOOPBACK}:{server.port}/1: "):
        store.get_many(Space.PAGES, [b"1"])
    with pytest.raises(StorageError):
        store.check()
    server.start()
    keys = [b"%d" % turn for turn in range(50)]
    assert store.get_many(Space.PAGES, keys) == keys
    assert not store.compare_and_set(Space.LEASES, b"d", None, b"you")
    assert store.get_many(Space.LEASES, [b"d"]) == [b"me"]


def test_a_server_that_does_not_answer_is_not_waited_for_forever(server: RealRedis) -> None:
    url = server.url.replace("timeout=20", "timeout=0.2")
    store = open_store(url, SystemClock())
    os.kill(server.pid(), signal.SIGSTOP)
    try:
        with pytest.raises(StorageError, match="(?i)time"):
            store.check()
        with pytest.raises(StorageError, match="(?i)time"):
            store.compare_and_set(Space.STATE, b"k", None, b"v")
    finally:
        os.kill(server.pid(), signal.SIGCONT)
    store.close()


def test_nobody_reads_the_password(server: RealRedis, store: Store) -> None:
    assert "swordfish" not in store.stats().store
    with pytest.raises(StorageError) as caught:
        open_store(server.url.replace("swordfish", "sardine"), SystemClock())
    assert "sardine" not in str(caught.value) and "redis" in str(caught.value)
    with pytest.raises(StorageError) as refused:
        open_store(f"redis://me:sardine@{LOOPBACK}:{free_port()}/0?timeout=1", SystemClock())
    assert "sardine" not in str(refused.value)


def test_wrong_addresses_are_told(server: RealRedis) -> None:
    for url, message in {
        "redis://a,b/0": "one host",
        "redis://a/first": "the database is a number",
        "redis://a/0?timeuot=3": "did you mean 'timeout'",
        "redis://a/0?timeout=soon": "numbers from 0.1 to 300",
    }.items():
        with pytest.raises(UsageError, match=message):
            open_store(url, SystemClock())


def test_pages_are_not_scanned(store: Store) -> None:
    with pytest.raises(UsageError, match="looked up, not scanned"):
        store.scan(Space.PAGES)


def test_prefixes_keep_services_apart(server: RealRedis, store: Store) -> None:
    other = open_store(f"{server.url}&prefix=other", SystemClock())
    other.put_many(Space.ROBOTS, [Row(b"k", b"other", 1)])
    store.put_many(Space.ROBOTS, [Row(b"k", b"mine", 1)])
    assert other.get_many(Space.ROBOTS, [b"k"]) == [b"other"]
    assert [row.value for row in store.scan(Space.ROBOTS)] == [b"mine"]
    other.close()


def test_what_expired_leaves_nothing_behind(server: RealRedis, store: Store) -> None:
    clock = ManualClock(NOW_MS)
    timed = open_store(server.url, clock)
    rows = [Row(b"%d" % place, b"", 1, NOW_MS + 1000) for place in range(100)]
    timed.put_many(Space.JOBS, rows)
    timed.put_many(Space.JOBS, [Row(b"7", b"renewed", 2)])
    assert 60_000 < server.client().pttl("nutria:jobs:8") <= 61_000
    assert server.client().pttl("nutria:jobs:7") == -1
    clock.advance(2)
    timed.put_many(Space.JOBS, [Row(b"new %d" % place, b"", 1) for place in range(60)])
    assert timed.stats().rows[Space.JOBS] == 61
    assert [row.key for row in timed.scan(Space.JOBS, b"7")] == [b"7"]
    timed.close()


def test_an_operator_is_told_what_to_change(store: Store) -> None:
    assert store.stats().warnings == ()
    with running_redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as careless:
        other = open_store(careless.url, SystemClock())
        log, memory = other.stats().warnings
        assert "appendonly yes" in log and "allkeys-lru" in memory
        careless.client().config_set("appendonly", "yes")
        late, _ = other.stats().warnings
        assert "appendfsync everysec" in late
        other.close()


def test_a_store_is_used_by_more_threads_than_it_has_connections(server: RealRedis) -> None:
    store = open_store(f"{server.url}&connections=2", SystemClock())
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: store.get_many(Space.PAGES, [b"k"] * 300), range(60)))
    assert found == [[None] * 300] * 60
    store.close()


def test_a_server_is_trusted_by_its_certificate_alone() -> None:
    with running_redis(is_secure=True) as secure:
        store = open_store(secure.url, SystemClock())
        store.put_many(Space.PAGES, [Row(b"k", b"v", 1)])
        assert store.get_many(Space.PAGES, [b"k"]) == [b"v"]
        assert store.stats().store == f"rediss://***@{LOOPBACK}:{secure.port}/1"
        store.close()
        unknown = secure.url.partition("&ca=")[0]
        with pytest.raises(StorageError, match="(?i)certificate"):
            open_store(unknown, SystemClock())
        # the certificate is for an address, and not for this name of it
        other = secure.url.replace(LOOPBACK, "localhost")
        with pytest.raises(StorageError, match="(?i)certificate"):
            open_store(other, SystemClock())


def test_a_file_of_authorities_is_looked_at_first(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for url, message in {
        f"rediss://:swordfish@h/0?ca={tmp_path}/missing.pem": "missing.pem.*No such file",
        f"rediss://:swordfish@h/0?ca={tmp_path}/empty.pem": "empty.pem.*it has no certificates",
        f"redis://:swordfish@h/0?ca={make_certificate(tmp_path)}": "ca is for TLS: use rediss://",
    }.items():
        with pytest.raises(UsageError, match=message) as caught:
            open_store(url, SystemClock())
        assert "swordfish" not in str(caught.value)
