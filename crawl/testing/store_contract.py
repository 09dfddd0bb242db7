"""What every store of the service must keep to; subclass it in your own tests:

class TestMine(StoreContract):
    def open(self, clock: Clock) -> Store:
        return MyStore(clock)  # always the same data

    def forget(self) -> None: ...  # all of it, before each test
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from crawl.clock import Clock
from crawl.service.stores.store import (
    MAX_KEY_BYTES,
    MAX_VALUE_BYTES,
    MAX_VERSION,
    UNCONDITIONAL,
    Row,
    Space,
    Store,
)
from crawl.testing.clock import ManualClock

_WICKED_KEYS = (
    b"\x00",
    b"\x00\x00",
    b"\xff",
    b"\xff" * 400,
    b"a b\r\n$5\r\n{x}*?[",
    "http://例え.jp/ü".encode(),
    b"k" * 399,
    b"k" * 400,
    b"k" * 401,
    *(b"k" * size for size in (478, 479, 480, 510, 511, 512, 513, 2000)),
    b"k" * 2000 + b"1",
    b"k" * 2000 + b"2",
    b"h" * MAX_KEY_BYTES,
)
_SCANNED = tuple(space for space in Space if space is not Space.PAGES)
_CONDITIONAL = tuple(space for space in Space if space not in UNCONDITIONAL)
NOW_MS = 1_790_000_000_000


class StoreContract:
    """Tests for pytest."""

    def open(self, clock: Clock) -> Store:
        """The store, with what is in it."""
        raise NotImplementedError

    def forget(self) -> None:
        """Has the next test begin with an empty store."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock(NOW_MS)

    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        self.forget()
        store = self.open(clock)
        yield store
        store.close()

    @pytest.mark.parametrize("space", Space)
    def test_what_was_put_is_found_in_the_order_of_the_keys_asked_for(
        self, store: Store, space: Space
    ) -> None:
        store.put_many(space, [Row(b"b", b"two", 1), Row(b"a", b"one", 5), Row(b"c", b"", 0)])
        asked = [b"c", b"missing", b"a", b"b", b"a"]
        assert store.get_many(space, asked) == [b"", None, b"one", b"two", b"one"]

    @pytest.mark.parametrize("space", Space)
    def test_a_smaller_version_never_replaces_a_larger_one(
        self, store: Store, space: Space
    ) -> None:
        store.put_many(space, [Row(b"k", b"new", NOW_MS)])
        store.put_many(space, [Row(b"k", b"old", NOW_MS - 1), Row(b"other", b"x", 1)])
        assert store.get_many(space, [b"k", b"other"]) == [b"new", b"x"]
        store.put_many(space, [Row(b"k", b"newest", NOW_MS + 1)])
        assert store.get_many(space, [b"k"]) == [b"newest"]

    @pytest.mark.parametrize("space", Space)
    def test_of_equal_versions_the_later_stays(self, store: Store, space: Space) -> None:
        for value in (b"zz", b"b", b"c", b""):
            store.put_many(space, [Row(b"k", value, 7)])
            assert store.get_many(space, [b"k"]) == [value]

    @pytest.mark.parametrize("space", Space)
    def test_one_call_may_bring_a_key_several_times(self, store: Store, space: Space) -> None:
        rows = [Row(b"k", b"z", 3), Row(b"k", b"y", 4), Row(b"k", b"old", 2), Row(b"k", b"x", 4)]
        store.put_many(space, rows)
        assert store.get_many(space, [b"k"]) == [b"x"]

    @pytest.mark.parametrize("version", [0, 1, 255, 1 << 32, (1 << 53) + 1, MAX_VERSION])
    @pytest.mark.parametrize("space", [Space.PAGES, Space.STATE])
    def test_versions_of_any_size_are_compared_exactly(
        self, store: Store, space: Space, version: int
    ) -> None:
        store.put_many(space, [Row(b"k", b"first", version)])
        if version:
            store.put_many(space, [Row(b"k", b"before", version - 1)])
        assert store.get_many(space, [b"k"]) == [b"first"]
        if version < MAX_VERSION:
            store.put_many(space, [Row(b"k", b"after", version + 1)])
            assert store.get_many(space, [b"k"]) == [b"after"]

    @pytest.mark.parametrize("space", Space)
    def test_spaces_are_apart(self, store: Store, space: Space) -> None:
        for each in Space:
            store.put_many(each, [Row(b"k", each.encode(), 1)])
        store.delete_many(space, [b"k"])
        for each in Space:
            expected = None if each is space else each.encode()
            assert store.get_many(each, [b"k"]) == [expected]

    @pytest.mark.parametrize("space", Space)
    def test_a_row_that_expired_is_not_there(
        self, store: Store, clock: ManualClock, space: Space
    ) -> None:
        rows = [Row(b"soon", b"1", 1, NOW_MS + 10_000), Row(b"later", b"2", 1, NOW_MS + 20_000)]
        store.put_many(space, [*rows, Row(b"never", b"3", 1), Row(b"gone", b"4", 1, NOW_MS - 1)])
        keys = [b"soon", b"later", b"never", b"gone"]
        assert store.get_many(space, keys) == [b"1", b"2", b"3", None]
        clock.advance(9.999)
        assert store.get_many(space, keys) == [b"1", b"2", b"3", None]
        clock.advance(0.001)
        assert store.get_many(space, keys) == [None, b"2", b"3", None]
        if space is not Space.PAGES:
            assert [row.key for row in store.scan(space)] == [b"later", b"never"]
        store.put_many(space, [Row(b"soon", b"again", 2, NOW_MS + 30_000)])
        assert store.get_many(space, keys) == [b"again", b"2", b"3", None]

    @pytest.mark.parametrize("space", Space)
    def test_what_was_deleted_is_gone_and_can_come_again(self, store: Store, space: Space) -> None:
        store.put_many(space, [Row(b"a", b"1", 9), Row(b"b", b"2", 9)])
        store.delete_many(space, [b"a", b"missing"])
        assert store.get_many(space, [b"a", b"b"]) == [None, b"2"]
        if space is not Space.PAGES:
            assert [row.key for row in store.scan(space)] == [b"b"]
        store.put_many(space, [Row(b"a", b"again", 9)])
        assert store.get_many(space, [b"a", b"b"]) == [b"again", b"2"]

    @pytest.mark.parametrize("space", Space)
    def test_nothing_asked_for_is_nothing_done(self, store: Store, space: Space) -> None:
        assert store.get_many(space, []) == []
        store.put_many(space, [])
        store.delete_many(space, [])

    @pytest.mark.parametrize("space", [Space.PAGES, Space.ROBOTS, Space.STATE])
    def test_any_bytes_are_keys_and_values(self, store: Store, space: Space) -> None:
        values = {key: bytes([place]) * place * 100 for place, key in enumerate(_WICKED_KEYS)}
        store.put_many(space, [Row(key, value, 1) for key, value in values.items()])
        assert store.get_many(space, list(values)) == list(values.values())
        if space is not Space.PAGES:
            assert {row.key: row.value for row in store.scan(space)} == values
        store.delete_many(space, list(values))
        assert store.get_many(space, list(values)) == [None] * len(values)

    def test_what_is_too_large_is_refused_before_anything_is_stored(self, store: Store) -> None:
        for row in (
            Row(b"", b"", 1),
            Row(b"k" * (MAX_KEY_BYTES + 1), b"", 1),
            Row(b"k", b"v" * (MAX_VALUE_BYTES + 1), 1),
            Row(b"k", b"", -1),
            Row(b"k", b"", MAX_VERSION + 1),
        ):
            with pytest.raises(ValueError):
                store.put_many(Space.STATE, [Row(b"good", b"", 1), row])
        for key in (b"", b"k" * (MAX_KEY_BYTES + 1)):
            with pytest.raises(ValueError):
                store.get_many(Space.PAGES, [key])
            with pytest.raises(ValueError):
                store.delete_many(Space.PAGES, [key])
            with pytest.raises(ValueError):
                store.compare_and_set(Space.STATE, key, None, b"")
        with pytest.raises(ValueError):
            store.scan(Space.STATE, prefix=b"p" * 401)
        assert store.get_many(Space.STATE, [b"good"]) == [None]

    def test_the_largest_value_fits(self, store: Store) -> None:
        value = bytes(range(256)) * (MAX_VALUE_BYTES // 256)
        store.put_many(Space.PAGES, [Row(b"k", value, 1)])
        assert store.get_many(Space.PAGES, [b"k"]) == [value]

    @pytest.mark.parametrize("space", _SCANNED)
    def test_a_scan_goes_through_the_keys_in_order_page_by_page(
        self, store: Store, space: Space
    ) -> None:
        rows = [Row(b"%c/%03d" % (97 + place % 3, place), b"v%d" % place, 4) for place in range(60)]
        store.put_many(space, rows)
        found: list[Row] = []
        while page := store.scan(space, after=found[-1].key if found else b"", limit=7):
            assert len(page) <= 7
            found += page
        assert found == sorted(rows, key=lambda row: row.key)

    @pytest.mark.parametrize("space", _SCANNED)
    def test_a_scan_of_a_prefix_finds_that_alone(self, store: Store, space: Space) -> None:
        keys = [b"a", b"b", b"b\x00", b"b/1", b"b/2", b"b\xff\xff", b"c", b"\xff", b"\xff\xff1"]
        store.put_many(space, [Row(key, b"", 1) for key in keys])

        def found(prefix: bytes, after: bytes = b"") -> list[bytes]:
            return [row.key for row in store.scan(space, prefix, after)]

        assert found(b"b") == [b"b", b"b\x00", b"b/1", b"b/2", b"b\xff\xff"]
        assert found(b"b/") == [b"b/1", b"b/2"]
        assert found(b"b/", b"b/1") == [b"b/2"]
        assert found(b"b", b"a") == [b"b", b"b\x00", b"b/1", b"b/2", b"b\xff\xff"]
        assert found(b"b", b"c") == []
        assert found(b"\xff") == [b"\xff", b"\xff\xff1"]
        assert found(b"nothing") == []

    def test_a_scan_tells_versions_and_expiry(self, store: Store) -> None:
        rows = [Row(b"a", b"1", 5, NOW_MS + 5000), Row(b"b", b"2", 1 << 40)]
        store.put_many(Space.STATE, rows)
        store.put_many(Space.JOBS, rows)
        assert store.scan(Space.STATE) == store.scan(Space.JOBS) == rows

    @pytest.mark.parametrize("space", _CONDITIONAL)
    def test_a_value_is_set_only_where_the_expected_one_is(
        self, store: Store, space: Space
    ) -> None:
        def value() -> bytes | None:
            return store.get_many(space, [b"k"])[0]

        assert not store.compare_and_set(space, b"k", b"", b"wrong")
        assert not store.compare_and_set(space, b"k", b"other", None)
        assert value() is None
        assert store.compare_and_set(space, b"k", None, b"one")
        assert value() == b"one"
        assert not store.compare_and_set(space, b"k", None, b"wrong")
        assert not store.compare_and_set(space, b"k", b"On", b"wrong")
        assert value() == b"one"
        assert store.compare_and_set(space, b"k", b"one", b"")
        assert value() == b""
        assert not store.compare_and_set(space, b"k", None, b"wrong")
        assert store.compare_and_set(space, b"k", b"", b"two")
        assert store.compare_and_set(space, b"k", b"two", None)
        assert value() is None
        assert store.compare_and_set(space, b"k", None, None)
        assert store.compare_and_set(space, b"k", None, b"again")
        assert value() == b"again"

    def test_a_condition_goes_by_expiry(self, store: Store, clock: ManualClock) -> None:
        assert store.compare_and_set(Space.LEASES, b"d", None, b"me", NOW_MS + 6000)
        assert not store.compare_and_set(Space.LEASES, b"d", None, b"you", NOW_MS + 6000)
        clock.advance(5)
        assert store.compare_and_set(Space.LEASES, b"d", b"me", b"me", NOW_MS + 11_000)
        clock.advance(5)
        assert store.get_many(Space.LEASES, [b"d"]) == [b"me"]
        assert not store.compare_and_set(Space.LEASES, b"d", None, b"you", NOW_MS + 16_000)
        clock.advance(1)
        assert not store.compare_and_set(Space.LEASES, b"d", b"me", b"me", NOW_MS + 17_000)
        assert store.compare_and_set(Space.LEASES, b"d", None, b"you", NOW_MS + 17_000)
        assert store.get_many(Space.LEASES, [b"d"]) == [b"you"]
        # a lease for good is one, too
        assert store.compare_and_set(Space.LEASES, b"d", b"you", b"you")
        clock.advance(1e6)
        assert store.get_many(Space.LEASES, [b"d"]) == [b"you"]

    def test_what_was_put_can_be_replaced_on_condition_and_the_other_way_round(
        self, store: Store
    ) -> None:
        store.put_many(Space.CRAWLS, [Row(b"k", b"put", 10)])
        assert store.compare_and_set(Space.CRAWLS, b"k", b"put", b"set")
        (row,) = store.scan(Space.CRAWLS)
        assert row == Row(b"k", b"set", 11)
        store.put_many(Space.CRAWLS, [Row(b"k", b"delayed", 10)])
        assert store.get_many(Space.CRAWLS, [b"k"]) == [b"set"]
        store.put_many(Space.CRAWLS, [Row(b"k", b"later", 12)])
        assert store.get_many(Space.CRAWLS, [b"k"]) == [b"later"]

    @pytest.mark.parametrize("space", sorted(UNCONDITIONAL))
    def test_spaces_of_many_rows_take_no_conditions(self, store: Store, space: Space) -> None:
        with pytest.raises(ValueError, match="no conditions"):
            store.compare_and_set(space, b"k", None, b"v")

    def test_of_many_who_set_at_once_one_does(self, store: Store, clock: ManualClock) -> None:
        stores = self.opened_again(clock, store)
        together = Barrier(8)

        def raced(place: int, turn: int, expected: bytes | None) -> bool:
            together.wait(60)
            mine = stores[place % len(stores)]
            return mine.compare_and_set(Space.LEASES, b"d", expected, b"%d in %d" % (place, turn))

        expected: bytes | None = None
        with ThreadPoolExecutor(8) as pool:
            for turn in range(5):
                won = list(pool.map(raced, range(8), [turn] * 8, [expected] * 8))
                assert won.count(True) == 1, won
                (expected,) = store.get_many(Space.LEASES, [b"d"])
                assert expected == b"%d in %d" % (won.index(True), turn)
        for each in stores:
            if each is not store:
                each.close()

    def test_a_counter_that_many_count_on_loses_nothing(self, store: Store) -> None:
        def count(_: int) -> None:
            while True:
                (old,) = store.get_many(Space.STATE, [b"n"])
                if store.compare_and_set(Space.STATE, b"n", old, b"%d" % (int(old or b"0") + 1)):
                    return

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count, range(24)))
        assert store.get_many(Space.STATE, [b"n"]) == [b"24"]

    def test_many_threads_put_and_the_largest_version_stays(self, store: Store) -> None:
        def put(thread: int) -> None:
            for turn in range(10):
                version = turn * 8 + thread
                rows = [Row(b"k%d" % key, b"%d" % version, version) for key in range(20)]
                store.put_many(Space.PAGES, rows)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(8)))
        assert store.get_many(Space.PAGES, [b"k%d" % key for key in range(20)]) == [b"79"] * 20

    def test_many_rows_at_once(self, store: Store) -> None:
        rows = [Row(b"http://example.org/%d" % place, b"%d" % place, 1) for place in range(3000)]
        store.put_many(Space.PAGES, rows)
        assert store.get_many(Space.PAGES, [row.key for row in rows]) == [row.value for row in rows]

    def test_what_was_put_is_there_when_the_store_is_opened_again(
        self, store: Store, clock: ManualClock
    ) -> None:
        store.put_many(Space.PAGES, [Row(b"k", b"v", 3)])
        assert store.compare_and_set(Space.STATE, b"s", None, b"w")
        store.close()
        again = self.open(clock)
        try:
            assert again.get_many(Space.PAGES, [b"k"]) == [b"v"]
            assert again.get_many(Space.STATE, [b"s"]) == [b"w"]
        finally:
            again.close()

    def test_it_tells_about_itself(self, store: Store) -> None:
        store.check()
        store.put_many(Space.CRAWLS, [Row(b"k", b"v", 3)])
        stats = store.stats()
        assert stats.store
        assert stats.rows.get(Space.CRAWLS, 1) == 1

    def test_a_store_can_be_closed_twice(self, store: Store) -> None:
        store.close()
        store.close()

    def opened_again(self, clock: Clock, store: Store) -> list[Store]:
        """The store and, where that is possible in one process, the same opened once more."""
        return [store]
