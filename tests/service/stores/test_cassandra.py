from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent
from cassandra.policies import RetryPolicy

from crawl.clock import Clock, SystemClock
from crawl.errors import StorageError, UsageError
from crawl.service.stores.adapters import cassandra_cluster
from crawl.service.stores.opening import open_store
from crawl.service.stores.store import Row, Space, Store
from crawl.testing.store_contract import StoreContract
from tests.free_port import LOOPBACK, free_port
from tests.service.stores.dying_store import wait_until
from tests.service.stores.real_cassandra import RealCassandra
from tests.service.stores.real_redis import make_certificate

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=280)]


@pytest.fixture(scope="module")
def session(node: RealCassandra) -> Iterator[Session]:
    open_store(node.url, SystemClock()).close()
    with node.cluster() as cluster:
        yield cluster.connect("nutria")


class TestCassandraStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _node(self, node: RealCassandra, session: Session) -> None:
        self.node = node
        self.session = session

    def open(self, clock: Clock) -> Store:
        return open_store(self.node.url, clock)

    def opened_again(self, clock: Clock, store: Store) -> list[Store]:
        return [store, self.open(clock)]

    def forget(self) -> None:
        for space in Space:
            self.session.execute(f"TRUNCATE {space}")


@pytest.fixture
def store(node: RealCassandra, session: Session) -> Iterator[Store]:
    for space in Space:
        session.execute(f"TRUNCATE {space}")
    store = open_store(node.url, SystemClock())
    yield store
    store.close()


def test_servers_forget_what_expired(store: Store, session: Session) -> None:
    now_ms = SystemClock().now_ms()
    store.put_many(Space.ROBOTS, [Row(b"k", b"v", now_ms, now_ms + 3_600_000)])
    assert store.compare_and_set(Space.LEASES, b"k", None, b"v", now_ms + 6000)
    ((robots,),) = session.execute("SELECT ttl(record) FROM robots")
    ((lease,),) = session.execute("SELECT ttl(record) FROM leases")
    assert 0 < robots <= 3660 and 0 < lease <= 66
    store.put_many(Space.PAGES, [Row(b"k", b"v", now_ms)])
    ((page,),) = session.execute("SELECT ttl(record) FROM pages")
    assert page is None


def test_what_expires_is_deleted_too(store: Store) -> None:
    now_ms = SystemClock().now_ms()
    store.put_many(Space.JOBS, [Row(b"k", b"v", 5, now_ms + 3_600_000)])
    store.delete_many(Space.JOBS, [b"k"])
    assert store.get_many(Space.JOBS, [b"k"]) == [None]
    store.put_many(Space.JOBS, [Row(b"k", b"new", 6)])
    assert store.get_many(Space.JOBS, [b"k"]) == [b"new"]


def test_pages_are_not_scanned(store: Store) -> None:
    with pytest.raises(UsageError, match="looked up, not scanned"):
        store.scan(Space.PAGES)


def test_an_operator_is_told_of_too_few_replicas(store: Store) -> None:
    (warning,) = store.stats().warnings
    assert "rows have 1 replica:" in warning


def test_what_is_done_on_a_condition_is_never_asked_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the connection broke the first time may have been heard."""
    profiles: dict[str, set[object]] = {}

    def recorded(session: Session, statements: Any, **options: Any) -> Any:
        profile = session.cluster.profile_manager.profiles[options["execution_profile"]]
        for statement, _ in statements:
            profiles.setdefault(statement.query_string, set()).add(profile.retry_policy)
        return execute_concurrent(session, statements, **options)

    monkeypatch.setattr(cassandra_cluster, "execute_concurrent", recorded)
    assert store.compare_and_set(Space.LEASES, b"d", None, b"me")
    assert store.compare_and_set(Space.LEASES, b"d", b"me", None)
    store.put_many(Space.STATE, [Row(b"k", b"v", 1)])
    conditional = {text for text in profiles if " IF record" in text}
    assert len(conditional) == 3
    for text in conditional:
        (policy,) = profiles[text]
        assert isinstance(policy, RetryPolicy)
        for ask in (policy.on_read_timeout, policy.on_write_timeout, policy.on_request_error):
            assert ask(None, None, None, None, None, retry_num=0)[0] == RetryPolicy.RETHROW
        assert policy.on_unavailable(None, None, 3, 1, 0)[0] == RetryPolicy.RETHROW


def test_tables_that_somebody_else_makes_are_not_made(node: RealCassandra) -> None:
    url = node.url.replace("/nutria?", "/others?create=no&")
    other = open_store(url, SystemClock())
    with pytest.raises(StorageError, match="others"):
        other.check()
    other.close()


def _answers(store: Store) -> bool:
    try:
        store.check()
    except StorageError:
        return False
    return True


def test_a_node_that_is_killed_has_what_was_acknowledged(node: RealCassandra, store: Store) -> None:
    keys = [b"%d" % place for place in range(200)]
    store.put_many(Space.PAGES, [Row(key, key, 1) for key in keys])
    assert store.compare_and_set(Space.LEASES, b"d", None, b"me")
    node.kill()
    with pytest.raises(StorageError, match=f"cassandra://{LOOPBACK}:{node.port}/nutria: "):
        store.check()
    node.start()
    # the one that was open finds it again, soon and by itself
    wait_until(lambda: _answers(store), "the store answers")
    again = open_store(node.url, SystemClock())
    assert again.get_many(Space.PAGES, keys) == keys
    assert not again.compare_and_set(Space.LEASES, b"d", None, b"you")
    assert again.get_many(Space.LEASES, [b"d"]) == [b"me"]
    again.close()


def test_a_server_that_is_not_there_is_named_without_password() -> None:
    url = f"cassandra://me:swordfish@{LOOPBACK}:{free_port()}/nutria?timeout=2"
    with pytest.raises(StorageError, match=rf"cassandra://\*\*\*@{LOOPBACK}:") as caught:
        open_store(url, SystemClock())
    assert "swordfish" not in str(caught.value)


def test_a_file_of_authorities_is_for_tls(tmp_path: Path) -> None:
    authority = make_certificate(tmp_path)
    for url, message in {
        f"cassandra://h/k?ca={authority}": "ca is for TLS: add tls=yes",
        f"cassandra://h/k?tls=yes&ca={tmp_path}/missing.pem": "missing.pem.*No such file",
    }.items():
        with pytest.raises(UsageError, match=message):
            open_store(url, SystemClock())
