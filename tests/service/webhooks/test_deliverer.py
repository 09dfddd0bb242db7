from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Space, Store
from crawl.service.webhooks.assembly import Webhooks
from crawl.service.webhooks.outbox import MAX_BODY
from crawl.service.webhooks.values import DeathReason, PauseReason, Webhook, WebhookEvent
from tests.service.webhooks.delivering_process import CONFIG
from tests.service.webhooks.receiver import WAIT_SECONDS, Receiver, running_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


def assembled(store: Store, **values: object) -> Webhooks:
    named = {f"service.webhooks.{name.replace('_', '.')}": each for name, each in values.items()}
    config = Config.of({**CONFIG, **named})
    return Webhooks.of(config, store, SystemClock())


@contextmanager
def delivering(store: Store, **values: object) -> Iterator[Webhooks]:
    webhooks = assembled(store, **values)
    webhooks.deliverer.start()
    try:
        yield webhooks
    finally:
        webhooks.deliverer.stop()


def until(is_so: Callable[[], bool]) -> None:
    """Waits for what another thread does."""
    pause = threading.Event()
    for _ in range(WAIT_SECONDS * 50):
        if is_so():
            return
        pause.wait(0.02)
    raise AssertionError("it has not come about")


def events(count: int) -> list[WebhookEvent]:
    return [
        WebhookEvent("finished", b'{"number":%d}' % number, owner="k") for number in range(count)
    ]


def rows(store: Store, prefix: bytes) -> int:
    return len(store.scan(Space.WEBHOOKS, prefix, limit=10_000))


def count(webhooks: Webhooks, reason: str) -> int:
    return webhooks.deliverer.status().counters[reason]


def test_each_event_arrives_and_is_forgotten(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store) as webhooks:
        for path in ("/one", "/two"):
            webhooks.registrations.add("k", receiver.url(path), ["finished"])
        assert webhooks.outbox.add(events(20)) == {"due": 40}
        for path in ("/one", "/two"):
            bodies = {each.body for each in receiver.wait_for(path, 20)}
            assert bodies == {each.body for each in events(20)}
        until(lambda: rows(store, b"due/") == 0)
        ids = [each.headers["webhook-id"] for each in receiver.received]
        assert len(set(ids)) == 40
        status = webhooks.deliverer.status()
        assert (status.is_delivering, status.counters["delivered"]) == (True, 40)
        until(lambda: webhooks.deliverer.status().scheduled == 0)


def test_what_was_stored_before_it_started_arrives(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    before = assembled(store)
    before.registrations.add("k", receiver.url("/ok"), ["*"])
    before.outbox.add(events(5))
    with delivering(store):
        receiver.wait_for("/ok", 5)


def test_what_another_process_stores_arrives(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store) as webhooks:
        until(lambda: webhooks.deliverer.status().is_delivering)
        other = assembled(store)
        other.registrations.add("k", receiver.url("/ok"), ["*"])
        other.outbox.add(events(5))
        receiver.wait_for("/ok", 5)
        until(lambda: rows(store, b"due/") == 0)


def test_a_failure_is_tried_again_with_the_same_id(receiver: Receiver) -> None:
    answers = iter((500, 503, 200))

    def answer(handler: object) -> None:
        receiver._plain(handler, next(answers))  # type: ignore[arg-type]

    receiver.answers["/flaky"] = answer
    store = MemoryStore(SystemClock())
    with delivering(store, retry_most=0) as webhooks:
        made = webhooks.registrations.add("k", receiver.url("/flaky"), ["*"])
        webhooks.outbox.add(events(1))
        received = receiver.wait_for("/flaky", 3)
        assert len({each.headers["webhook-id"] for each in received}) == 1
        until(lambda: rows(store, b"due/") == 0)
        until(lambda: not webhooks.registrations.list()[0].failing_since_ms)
        assert webhooks.outbox.dead(made.id) == []


def test_after_the_last_attempt_it_is_a_dead_letter_until_it_is_redelivered(
    receiver: Receiver,
) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store, attempts=3) as webhooks:
        made = webhooks.registrations.add("k", receiver.url("/broken"), ["*"])
        receiver.answers["/broken"] = lambda handler: receiver._plain(handler, 500)
        webhooks.outbox.add(events(3))
        until(lambda: len(webhooks.outbox.dead(made.id)) == 3)
        assert len(receiver.of("/broken")) == 9
        letters = webhooks.outbox.dead(made.id)
        assert {letter.reason for letter in letters} == {DeathReason.EXHAUSTED}
        assert {letter.delivery.attempts for letter in letters} == {3}
        assert letters[0].delivery.error == "status: answered 500"
        assert webhooks.outbox.dead(made.id, after=letters[0].delivery.key) == letters[1:]
        until(lambda: rows(store, b"due/") == 0)

        assert webhooks.outbox.purge(made.id, [letters[0].delivery.id]) == 1
        del receiver.answers["/broken"]
        assert webhooks.outbox.redeliver(made.id) == 2
        again = receiver.wait_for("/broken", 11)[9:]
        assert {each.headers["webhook-id"] for each in again} == {
            letter.delivery.id for letter in letters[1:]
        }
        until(lambda: rows(store, b"due/") + rows(store, b"dead/") == 0)


def test_dead_letters_are_redelivered_by_another_process_too(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store, attempts=1) as webhooks:
        made = webhooks.registrations.add("k", receiver.url("/status/500"), ["*"])
        webhooks.outbox.add(events(2))
        until(lambda: len(webhooks.outbox.dead(made.id)) == 2)
        other = assembled(store)
        assert other.outbox.redeliver(made.id, ["none"]) == 0
        assert other.outbox.redeliver(made.id) == 2
        receiver.wait_for("/status/500", 4)
        until(lambda: len(webhooks.outbox.dead(made.id)) == 2)
        assert other.outbox.purge(made.id) == 2


def test_an_endpoint_that_is_gone_is_paused_and_may_be_resumed(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store) as webhooks:
        made = webhooks.registrations.add("k", receiver.url("/gone"), ["*"])
        receiver.answers["/gone"] = lambda handler: receiver._plain(handler, 410)
        webhooks.outbox.add(events(1))
        until(lambda: len(webhooks.outbox.dead(made.id)) == 1)
        [paused] = webhooks.registrations.list()
        assert paused.pause_reason is PauseReason.GONE
        assert count(webhooks, "endpoint_paused") == 1
        assert webhooks.outbox.add(events(2)) == {"paused": 2}
        # to have them delivered while it is paused ends, and keeps them
        webhooks.outbox.redeliver(made.id)
        until(lambda: rows(store, b"due/") == 0)
        assert len(webhooks.outbox.dead(made.id)) == 3
        assert {letter.reason for letter in webhooks.outbox.dead(made.id)} == {DeathReason.PAUSED}

        del receiver.answers["/gone"]
        assembled(store).registrations.resume(made.id)  # by another process
        webhooks.outbox.redeliver(made.id)
        receiver.wait_for("/gone", 4)


def test_an_endpoint_that_fails_for_long_is_paused(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store, pause_after=0, attempts=100) as webhooks:
        made = webhooks.registrations.add("k", receiver.url("/status/500"), ["*"])
        webhooks.outbox.add(events(5))
        until(lambda: len(webhooks.outbox.dead(made.id)) == 5)
        [paused] = webhooks.registrations.list()
        assert paused.pause_reason is PauseReason.FAILING
        assert rows(store, b"due/") == 0


def test_hanging_endpoints_hold_no_other_up(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store, per_endpoint=2, timeout=300) as webhooks:
        webhooks.registrations.add("k", receiver.url("/wait"), ["*"])
        webhooks.outbox.add(events(10))
        receiver.wait_for("/wait", 2)
        webhooks.registrations.add("k", receiver.url("/ok"), ["other"])
        webhooks.outbox.add([WebhookEvent("other", b"{}", owner="k")] * 5)
        receiver.wait_for("/ok", 5)
        assert len(receiver.of("/wait")) == 2
        receiver.may_go_on.set()
        receiver.wait_for("/wait", 15)
        assert receiver.most_under_way <= 4


def test_what_waits_for_a_webhook_that_was_removed_is_dropped_and_counted(
    receiver: Receiver,
) -> None:
    store = MemoryStore(SystemClock())
    before = assembled(store)
    made = before.registrations.add("k", receiver.url("/ok"), ["*"])
    before.outbox.add(events(3))
    before.registrations.remove(made.id)
    with delivering(store) as webhooks:
        until(lambda: count(webhooks, "webhook_removed") == 3)
        assert rows(store, b"due/") == 0
    assert receiver.received == []


def test_too_many_that_wait_become_dead_letters(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store, pending=5, per_endpoint=1, timeout=300) as webhooks:
        made = webhooks.registrations.add("k", receiver.url("/wait"), ["*"])
        webhooks.outbox.add(events(1))
        receiver.wait_for("/wait", 1)
        webhooks.outbox.add(events(8))
        until(lambda: len(webhooks.outbox.dead(made.id)) == 3)
        assert {each.reason for each in webhooks.outbox.dead(made.id)} == {DeathReason.BACKLOG}
        receiver.may_go_on.set()
        receiver.wait_for("/wait", 6)


def test_bodies_that_are_too_large_are_counted(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    webhooks = assembled(store)
    large = WebhookEvent("finished", b"x" * (MAX_BODY + 1), owner="k")
    assert webhooks.outbox.add([large]) == {}
    webhooks.registrations.add("k", receiver.url("/ok"), ["*"])
    assert webhooks.outbox.add([large, *events(1)]) == {"too_large": 1, "due": 1}


def test_one_process_delivers_and_another_takes_over(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store) as second:
        until(lambda: second.deliverer.status().is_delivering)
        with delivering(store) as first:
            made = first.registrations.add("k", receiver.url("/ok"), ["*"])
            first.outbox.add(events(10))
            receiver.wait_for("/ok", 10)
            until(lambda: rows(store, b"due/") == 0)
            assert not first.deliverer.status().is_delivering
            assert count(first, "delivered") == 0
            second.deliverer.stop()
            first.outbox.add(events(5))
            receiver.wait_for("/ok", 15)
            until(lambda: rows(store, b"due/") == 0)
            assert count(first, "delivered") == 5
    assert len(receiver.of("/ok")) == 15
    assert isinstance(made, Webhook)


def test_a_store_that_fails_for_a_while_loses_nothing(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store) as webhooks:
        webhooks.registrations.add("k", receiver.url("/ok"), ["*"])
        delete_many = store.delete_many

        def fail(*_: object) -> None:
            raise OSError("the store is away")

        monkeypatch.setattr(store, "delete_many", fail)
        webhooks.outbox.add(events(3))
        until(lambda: count(webhooks, "store_failed") >= 3)
        assert rows(store, b"due/") == 3
        monkeypatch.setattr(store, "delete_many", delete_many)
        until(lambda: rows(store, b"due/") == 0)
        assert {each.body for each in receiver.received} == {each.body for each in events(3)}


def test_stopped_in_the_middle_it_is_delivered_by_the_next(receiver: Receiver) -> None:
    store = MemoryStore(SystemClock())
    with delivering(store, timeout=300) as webhooks:
        webhooks.registrations.add("k", receiver.url("/wait"), ["*"])
        webhooks.outbox.add(events(1))
        receiver.wait_for("/wait", 1)
    assert rows(store, b"due/") == 1
    receiver.may_go_on.set()
    with delivering(store):
        receiver.wait_for("/wait", 2)
        until(lambda: rows(store, b"due/") == 0)


@contextmanager
def process(path: Path, how: str, count: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.service.webhooks.delivering_process"]
    running = subprocess.Popen(
        [*command, str(path), how, str(count)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "done\n"
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.slow
def test_killed_between_storing_and_delivering_nothing_is_lost(
    receiver: Receiver, tmp_path: Path
) -> None:
    path = tmp_path / "store"
    store = LmdbStore(path, SystemClock())
    assembled(store).registrations.add("k", receiver.url("/ok"), ["*"])
    with process(path, "store", 20) as storing:
        storing.kill()
        storing.wait()
    assert receiver.received == []
    with delivering(store):
        received = receiver.wait_for("/ok", 20)
        assert {each.body for each in received} == {each.body for each in events(20)}
        until(lambda: rows(store, b"due/") == 0)
    store.close()


@pytest.mark.slow
def test_killed_in_the_middle_of_a_delivery_it_arrives_again(
    receiver: Receiver, tmp_path: Path
) -> None:
    path = tmp_path / "store"
    store = LmdbStore(path, SystemClock())
    before = assembled(store)
    before.registrations.add("k", receiver.url("/wait"), ["*"])
    before.outbox.add(events(2))
    with process(path, "deliver", 0) as killed:
        receiver.wait_for("/wait", 2)
        killed.kill()
        killed.wait()
    receiver.may_go_on.set()
    with delivering(store):
        received = receiver.wait_for("/wait", 4)
        until(lambda: rows(store, b"due/") == 0)
    ids = [each.headers["webhook-id"] for each in received]
    assert sorted(ids[:2]) == sorted(ids[2:])
    store.close()
