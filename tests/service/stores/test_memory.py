from __future__ import annotations

import pytest

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Row, Space, Store
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS, StoreContract


class TestMemoryStore(StoreContract):
    def open(self, clock: Clock) -> Store:
        return MemoryStore(clock)

    @pytest.mark.skip("it forgets")
    def test_what_was_put_is_there_when_the_store_is_opened_again(
        self, store: Store, clock: ManualClock
    ) -> None: ...


def test_what_expired_is_removed_as_others_come() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    store.put_many(Space.JOBS, [Row(b"%d" % place, b"", 1, NOW_MS + 1000) for place in range(100)])
    clock.advance(2)
    store.put_many(Space.PAGES, [Row(b"%d" % place, b"", 1) for place in range(50)])
    stats = store.stats()
    assert (stats.rows[Space.JOBS], stats.rows[Space.PAGES]) == (0, 50)


def test_a_closed_store_says_so() -> None:
    store = MemoryStore(ManualClock())
    store.close()
    with pytest.raises(StorageError, match="closed"):
        store.check()
    with pytest.raises(StorageError, match="closed"):
        store.get_many(Space.PAGES, [b"k"])
