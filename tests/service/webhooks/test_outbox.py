"""What the outbox keeps, and that nothing stays in it that nobody wants any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Row, Space, Store
from crawl.service.webhooks.assembly import Webhooks
from crawl.service.webhooks.outbox import MAX_BODY
from crawl.service.webhooks.values import (
    DeathReason,
    Delivery,
    PauseReason,
    WebhookEvent,
)
from crawl.testing.clock import ManualClock

KEEP_S = 5 * 86_400
CONFIG = {"service.webhooks.dead.keep": "5d", "service.webhooks.allow.private": True}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000_000)


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> Iterator[Store]:
    opened = MemoryStore(clock) if request.param == "memory" else LmdbStore(tmp_path / "s", clock)
    yield opened
    opened.close()


@pytest.fixture
def webhooks(store: Store, clock: ManualClock) -> Webhooks:
    """Nobody delivers: the deliverer is not started."""
    return Webhooks.of(Config.of(CONFIG), store, clock)


@pytest.fixture
def hook(webhooks: Webhooks) -> Callable[[], str]:
    def made() -> str:
        return webhooks.registrations.add("k", "http://127.0.0.1:1/hook", ["*"]).id

    return made


def events(count: int) -> list[WebhookEvent]:
    return [WebhookEvent("finished", b'{"n":%d}' % number, owner="k") for number in range(count)]


def rows(store: Store, prefix: bytes) -> int:
    return len(store.scan(Space.WEBHOOKS, prefix, limit=10_000))


def due(webhooks: Webhooks) -> list[Delivery]:
    return list(webhooks.outbox.due())


def bury_all(webhooks: Webhooks) -> list[Delivery]:
    buried = due(webhooks)
    for each in buried:
        webhooks.outbox.bury(each, DeathReason.EXHAUSTED)
    return buried


def test_what_arrived_leaves_nothing(
    store: Store, webhooks: Webhooks, hook: Callable[[], str]
) -> None:
    hook(), hook()
    assert webhooks.outbox.add(events(3)) == {"due": 6}
    for each in due(webhooks):
        assert webhooks.outbox.read(each.key) == each
        webhooks.outbox.forget(each)
        assert webhooks.outbox.read(each.key) is None
    assert (rows(store, b"due/"), rows(store, b"dead/")) == (0, 0)


def test_a_dead_letter_is_not_due_as_well(
    store: Store, webhooks: Webhooks, hook: Callable[[], str]
) -> None:
    made = hook()
    webhooks.outbox.add(events(250))
    buried = bury_all(webhooks)
    assert (rows(store, b"due/"), rows(store, b"dead/")) == (0, 250)
    letters = webhooks.outbox.dead(made, limit=1000)
    assert [each.delivery for each in letters] == buried
    after = webhooks.outbox.dead(made, letters[99].delivery.key)
    assert after == letters[100:200]


def test_dead_letters_are_kept_for_as_long_as_it_is_set_and_are_gone_then(
    store: Store, webhooks: Webhooks, hook: Callable[[], str], clock: ManualClock
) -> None:
    made = hook()
    webhooks.outbox.add(events(20))
    bury_all(webhooks)
    clock.advance(KEEP_S - 1)
    assert len(webhooks.outbox.dead(made)) == 20
    clock.advance(2)
    assert webhooks.outbox.dead(made) == []
    assert webhooks.outbox.redeliver(made) == 0
    assert webhooks.outbox.purge(made) == 0
    # their room is given back by what is written later
    before = store.stats().rows[Space.WEBHOOKS]
    for number in range(20):
        store.put_many(Space.PAGES, [Row(b"p%d" % number, b"x", 1)])
    assert store.stats().rows[Space.WEBHOOKS] == before - 20
    assert webhooks.registrations.get(made) is not None, "what has no end stays"


def test_redelivered_letters_are_due_once_and_dead_no_more(
    store: Store, webhooks: Webhooks, hook: Callable[[], str], clock: ManualClock
) -> None:
    made, other = hook(), hook()
    webhooks.outbox.add(events(120))
    ids = {each.id for each in bury_all(webhooks) if each.webhook == made}
    clock.advance(1)
    chosen = sorted(ids)[:2]
    assert webhooks.outbox.redeliver(made, chosen) == 2
    assert sorted(each.id for each in due(webhooks)) == chosen
    assert webhooks.outbox.redeliver(made) == 118
    again = due(webhooks)
    assert {each.id for each in again} == ids, "an endpoint knows again what it has seen"
    assert {each.attempts for each in again} == {0}
    assert webhooks.outbox.dead(made) == []
    assert len(webhooks.outbox.dead(other, limit=1000)) == 120
    assert (rows(store, b"due/"), rows(store, b"dead/")) == (120, 120)


def test_dead_letters_are_purged_by_webhook_and_by_id(
    webhooks: Webhooks, hook: Callable[[], str]
) -> None:
    made, other = hook(), hook()
    webhooks.outbox.add(events(120))
    bury_all(webhooks)
    ids = [each.delivery.id for each in webhooks.outbox.dead(made, limit=3)]
    assert webhooks.outbox.purge(made, [*ids, "msg_nothing"]) == 3
    assert webhooks.outbox.purge(made) == 117
    assert webhooks.outbox.dead(made) == []
    assert len(webhooks.outbox.dead(other, limit=1000)) == 120


def test_what_it_was_given_is_counted(webhooks: Webhooks, hook: Callable[[], str]) -> None:
    large = WebhookEvent("finished", b"x" * (MAX_BODY + 1), owner="k")
    webhooks.outbox.add([large])
    assert webhooks.counters() == {}, "nobody wants it"
    made = hook()
    webhooks.outbox.add([large, *events(2)])
    webhooks.registrations.pause(made, PauseReason.REQUESTED)
    webhooks.outbox.add(events(3))
    assert webhooks.counters() == {"stored": 2, "too_large": 1, "dead_paused": 3}
    assert {each.reason for each in webhooks.outbox.dead(made)} == {DeathReason.PAUSED}
