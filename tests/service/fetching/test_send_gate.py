"""Who may be asked while a batch fetch is at work, and by a process that stood still."""

from __future__ import annotations

from crawl.fetcher.values.item import FetchItem
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.send_gate import (
    EVERYBODY,
    NOBODY,
    NOT_LOOKED,
    YIELDED,
    SendGate,
    ServerSet,
)
from crawl.testing.clock import ManualClock

DATUM = CrawlDatum(Status.DB_UNFETCHED, 0)


def is_open(gate: SendGate) -> bool:
    return gate.is_open


def item(host: str) -> FetchItem:
    return FetchItem(f"http://{host}/", host, f"http://{host}:80", host, DATUM)


def test_servers_of_a_fetch_are_refused() -> None:
    gate = SendGate(ManualClock())
    gate.renew(0.0)
    assert gate.may_send(item("a.org")) == YIELDED, "until somebody has looked"
    gate.yielded = ServerSet(["a.org", "b.org"])
    assert gate.may_send(item("a.org")) == YIELDED
    assert gate.may_send(item("c.org")) is True
    assert is_open(gate)
    gate.yielded = EVERYBODY
    assert gate.may_send(item("c.org")) == YIELDED
    assert not is_open(gate)
    gate.yielded = NOBODY
    assert gate.may_send(item("a.org")) is True


def test_a_process_that_stood_still_asks_nobody() -> None:
    clock = ManualClock()
    gate = SendGate(clock, lease_s=10)
    gate.yielded = NOBODY
    gate.renew(clock.monotonic())
    clock.advance(9.9)
    assert gate.may_send(item("a.org")) is True
    clock.advance(0.1)
    assert gate.may_send(item("a.org")) == NOT_LOOKED
    assert not is_open(gate)
    gate.renew(clock.monotonic())
    assert gate.may_send(item("a.org")) is True


def test_a_set_of_many_servers() -> None:
    hosts = [f"h{number}.org" for number in range(10_000)]
    servers = ServerSet(hosts)
    assert len(servers) == len(hosts)
    assert all(host in servers for host in hosts)
    assert sum(f"g{number}.org" in servers for number in range(10_000)) == 0
    assert "a.org" not in ServerSet()
    assert "a.org" in EVERYBODY
