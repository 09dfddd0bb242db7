from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crawl.errors import StorageError
from crawl.robots.stored import StoredAnswer
from crawl.service.fetching.shared_robots import SharedRobots
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Space
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS

DAY_MS = 86_400_000
A = "http://a:80"
ANSWER = StoredAnswer(A, NOW_MS, NOW_MS + 3_600_000, 200, f"{A}/robots.txt", b"User-agent: *")


class CountingStore(MemoryStore):
    fails = False
    reads = 0

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        self.reads += 1
        if self.fails:
            raise StorageError("down")
        return super().get_many(space, keys)


def robots(clock: ManualClock, keep_s: float = 86_400.0) -> tuple[CountingStore, SharedRobots]:
    store = CountingStore(clock)
    return store, SharedRobots(store, clock, keep_s)


def test_an_answer_is_shared_until_it_expires() -> None:
    clock = ManualClock(NOW_MS)
    store, mine = robots(clock)
    mine.add(ANSWER)
    assert mine.take(A) is None  # not stored yet
    mine.flush()
    others = SharedRobots(store, clock, 86_400.0)
    assert others.take(A) == ANSWER
    clock.advance(3599)
    assert others.take(A) == ANSWER
    clock.advance(2)
    assert others.take(A) is None


def test_none_counts_or_is_kept_for_longer_than_a_day() -> None:
    clock = ManualClock(NOW_MS)
    store, mine = robots(clock, keep_s=1e9)
    mine.add(replace(ANSWER, expires_ms=NOW_MS + 30 * DAY_MS))
    mine.flush()
    (row,) = store.scan(Space.ROBOTS)
    assert row.expires_at_ms == NOW_MS + DAY_MS
    clock.advance(86_399)
    assert mine.take(A) is not None
    clock.advance(2)
    assert mine.take(A) is None
    assert store.scan(Space.ROBOTS) == []


def test_an_answer_of_the_future_is_none() -> None:
    clock = ManualClock(NOW_MS)
    _, mine = robots(clock)
    mine.add(replace(ANSWER, asked_ms=NOW_MS + 600_000, expires_ms=NOW_MS + 700_000))
    mine.flush()
    assert mine.take(A) is None


def test_a_store_that_fails_is_left_alone_for_a_while() -> None:
    """The engine waits while it is asked, and all requests with it."""
    clock = ManualClock(NOW_MS)
    store, mine = robots(clock)
    mine.add(ANSWER)
    mine.flush()
    store.fails = True
    assert mine.take(A) is None
    store.fails, store.reads = False, 0
    assert mine.take(A) is None
    assert store.reads == 0
    clock.advance(6)
    assert mine.take(A) == ANSWER


def test_what_cannot_be_stored_is_no_fault_of_the_engines() -> None:
    clock = ManualClock(NOW_MS)
    _, mine = robots(clock)
    mine.add(replace(ANSWER, body=bytes(9 << 20)))
    mine.flush()
    assert mine.take(A) is None
