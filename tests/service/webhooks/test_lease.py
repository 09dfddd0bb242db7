from __future__ import annotations

from crawl.service.webhooks.lease import Lease
from tests.service.stores_in_memory import MemoryStore, SetClock


def test_one_at_a_time_until_it_is_silent() -> None:
    store, clock = MemoryStore(), SetClock()
    first, second = (Lease(store, clock, "work", 10) for _ in range(2))
    assert not first.is_held()
    assert first.hold()
    assert not second.hold()
    clock.move(7)
    assert first.is_held()
    assert first.hold()
    clock.move(7)
    assert not second.hold()
    clock.move(4)
    assert second.hold()
    assert second.is_held()


def test_a_process_that_was_stopped_does_not_go_on() -> None:
    store, clock = MemoryStore(), SetClock()
    stopped, other = (Lease(store, clock, "work", 10) for _ in range(2))
    assert stopped.hold()
    clock.move(60)
    assert not stopped.is_held()  # before it has asked anybody
    assert other.hold()
    assert not stopped.hold()
    assert not stopped.is_held()
    assert other.is_held()


def test_released_it_is_free_at_once_and_only_by_its_holder() -> None:
    store, clock = MemoryStore(), SetClock()
    first, second = (Lease(store, clock, "work", 10) for _ in range(2))
    second.release()
    assert first.hold()
    second.release()
    assert not second.hold()
    first.release()
    assert not first.is_held()
    assert second.hold()


def test_leases_of_other_names_are_others() -> None:
    store, clock = MemoryStore(), SetClock()
    assert Lease(store, clock, "one", 10).hold()
    assert Lease(store, clock, "two", 10).hold()
