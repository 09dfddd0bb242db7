from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crawl.errors import StorageError
from crawl.service.stores.memory import MemoryStore
from crawl.service.webhooks.lease import Lease
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS


def test_one_at_a_time_until_it_is_silent() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    first, second = (Lease(store, clock, "work", 10) for _ in range(2))
    assert not first.is_held()
    assert first.hold()
    assert not second.hold()
    clock.advance(7)
    assert first.is_held()
    assert first.hold()
    clock.advance(7)
    assert not second.hold()
    clock.advance(4)
    assert second.hold()
    assert second.is_held()


def test_a_process_that_was_stopped_does_not_go_on() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    stopped, other = (Lease(store, clock, "work", 10) for _ in range(2))
    assert stopped.hold()
    clock.advance(60)
    assert not stopped.is_held()  # before it has asked anybody
    assert other.hold()
    assert not stopped.hold()
    assert not stopped.is_held()
    assert other.is_held()


def test_released_it_is_free_at_once_and_only_by_its_holder() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    first, second = (Lease(store, clock, "work", 10) for _ in range(2))
    second.release()
    assert first.hold()
    second.release()
    assert not second.hold()
    first.release()
    assert not first.is_held()
    assert second.hold()


def test_leases_of_other_names_are_others() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    assert Lease(store, clock, "one", 10).hold()
    assert Lease(store, clock, "two", 10).hold()


class _SlowStore(MemoryStore):
    """Takes its time, or has its answers lost."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.clock = clock
        self.takes_s = 0.0
        self.loses_answers = False

    def compare_and_set(self, *given: Any, **named: Any) -> bool:
        is_set = super().compare_and_set(*given, **named)
        self.clock.advance(self.takes_s)
        if self.loses_answers:
            raise StorageError("the connection broke")
        return is_set


def test_the_time_that_the_store_takes_is_time_of_the_lease() -> None:
    clock = ManualClock(NOW_MS)
    store = _SlowStore(clock)
    first, second = (Lease(store, clock, "work", 10) for _ in range(2))
    store.takes_s = 7
    assert first.hold()
    assert first.is_held()
    clock.advance(2)
    assert not first.is_held()
    store.takes_s = 0
    assert not second.hold()  # nobody has it for a moment, rather than two
    clock.advance(2)
    assert second.hold()
    store.takes_s = 60  # stopped for a minute while the store answered
    clock.advance(5)
    assert second.hold()
    assert not second.is_held()


def test_a_lease_whose_answer_was_lost_is_not_anothers() -> None:
    clock = ManualClock(NOW_MS)
    store = _SlowStore(clock)
    first, second = (Lease(store, clock, "work", 10) for _ in range(2))
    store.loses_answers = True
    with pytest.raises(StorageError):
        first.hold()
    assert not first.is_held()  # nobody has said so
    store.loses_answers = False
    assert not second.hold()
    assert first.hold()
    assert first.is_held()
    # a renewal that is not answered takes nothing away from what was granted before
    clock.advance(4)
    store.loses_answers = True
    with pytest.raises(StorageError):
        first.hold()
    assert first.is_held()
    clock.advance(5)
    assert not first.is_held()


def test_of_many_who_find_it_free_one_takes_it() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    leases = [Lease(store, clock, "work", 10) for _ in range(8)]
    for _ in range(20):
        with ThreadPoolExecutor(8) as pool:
            taken = list(pool.map(lambda lease: lease.hold(), leases))
        assert taken.count(True) == 1
        assert [lease.is_held() for lease in leases] == taken
        clock.advance(11)
        assert not any(lease.is_held() for lease in leases)
