from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.service.callers.count_flushing import counts_flushed
from crawl.service.callers.keys import KeyRing
from crawl.service.callers.quota import Quota, QuotaAnswer, QuotaReason, Quotas
from crawl.service.callers.scope import Scope
from crawl.service.callers.settings_access import default_quota
from crawl.service.stores.memory import MemoryStore
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS
from tests.examples import scaled

TEN = Quota(per_second=10, burst=20)
MIDNIGHT = 1_800_057_600_000


def test_a_burst_then_the_rate() -> None:
    clock = ManualClock(NOW_MS)
    quotas = Quotas(MemoryStore(clock), clock)
    assert quotas.take("k", Scope.FETCH, TEN, 20).is_granted
    refused = quotas.take("k", Scope.FETCH, TEN, 5)
    assert refused == QuotaAnswer(QuotaReason.RATE, 0.5)
    clock.advance(refused.retry_after_seconds)
    assert quotas.take("k", Scope.FETCH, TEN, 5).is_granted
    assert not quotas.take("k", Scope.FETCH, TEN, 1).is_granted


def test_keys_and_classes_have_buckets_of_their_own() -> None:
    clock = ManualClock(NOW_MS)
    quotas = Quotas(MemoryStore(clock), clock)
    assert quotas.take("k", Scope.FETCH, TEN, 20).is_granted
    assert quotas.take("k", Scope.LOOKUP, TEN, 20).is_granted
    assert quotas.take("other", Scope.FETCH, TEN, 20).is_granted
    assert not quotas.take("k", Scope.FETCH, TEN).is_granted


def test_what_no_wait_would_grant() -> None:
    clock = ManualClock(NOW_MS)
    quotas = Quotas(MemoryStore(clock), clock)
    never = QuotaAnswer(QuotaReason.TOO_MANY_AT_ONCE)
    assert quotas.take("k", Scope.FETCH, TEN, 21) == never
    assert quotas.take("k", Scope.FETCH, Quota(per_day=5), 6) == never
    assert quotas.take("none", Scope.FETCH, Quota(per_second=0, burst=0), 2) == never
    assert quotas.take("k", Scope.FETCH, Quota(), 10**9).is_granted


def test_a_day_ends_at_midnight() -> None:
    clock = ManualClock(MIDNIGHT - 60_000)
    quotas = Quotas(MemoryStore(clock), clock)
    quota = Quota(per_day=10)
    assert quotas.take("k", Scope.FETCH, quota, 7).is_granted
    assert quotas.taken_today("k", Scope.FETCH) == 7
    refused = quotas.take("k", Scope.FETCH, quota, 4)
    assert refused == QuotaAnswer(QuotaReason.DAY, 60.0)
    assert quotas.take("k", Scope.FETCH, quota, 3).is_granted
    clock.advance(60)
    assert quotas.taken_today("k", Scope.FETCH) == 0
    assert quotas.take("k", Scope.FETCH, quota, 10).is_granted


def test_counts_survive_a_restart() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    quotas = Quotas(store, clock)
    quota = Quota(per_second=10, burst=20, per_day=30)
    assert quotas.take("k", Scope.FETCH, quota, 20).is_granted
    assert quotas.flush() == 1
    assert quotas.flush() == 0
    clock.advance(1)
    again = Quotas(store, clock)
    assert again.taken_today("k", Scope.FETCH) == 20
    assert again.take("k", Scope.FETCH, quota, 11).reason is QuotaReason.DAY
    assert again.take("k", Scope.FETCH, quota, 10).is_granted
    assert not again.take("k", Scope.FETCH, quota).is_granted


def test_a_crash_forgets_no_more_than_was_taken_since_the_flush() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    quotas = Quotas(store, clock)
    quotas.take("k", Scope.FETCH, TEN, 12)
    quotas.flush()
    quotas.take("k", Scope.FETCH, TEN, 5)  # is forgotten
    again = Quotas(store, clock)
    assert again.take("k", Scope.FETCH, TEN, 8).is_granted
    assert not again.take("k", Scope.FETCH, TEN).is_granted


def test_a_clock_that_is_set_back_grants_nothing_more() -> None:
    clock = ManualClock(MIDNIGHT + 1_000)
    store = MemoryStore(clock)
    quotas = Quotas(store, clock)
    quota = Quota(per_second=10, burst=20, per_day=20)
    quotas.take("k", Scope.FETCH, quota, 20)
    quotas.flush()
    clock.advance(-3_600)
    again = Quotas(store, clock)
    assert again.take("k", Scope.FETCH, quota).reason is QuotaReason.DAY
    assert again.take("k", Scope.FETCH, TEN).reason is QuotaReason.RATE


def test_instances_count_for_themselves() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    one = Quotas(store, clock, "one")
    one.take("k", Scope.FETCH, TEN, 20)
    one.flush()
    assert Quotas(store, clock, "two").take("k", Scope.FETCH, TEN, 20).is_granted
    assert not Quotas(store, clock, "one").take("k", Scope.FETCH, TEN).is_granted


def test_buckets_that_are_full_again_are_forgotten_and_their_rows_expire() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    quotas = Quotas(store, clock)
    quotas.take("k", Scope.FETCH, TEN, 20)
    quotas.flush()
    clock.advance(3 * 86_400)
    quotas.flush()
    assert quotas._buckets == {}
    assert Quotas(store, clock)._buckets == {}


def test_a_write_that_failed_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    quotas = Quotas(store, clock)
    quotas.take("k", Scope.FETCH, TEN, 20)

    def fail(*_: object) -> None:
        raise OSError("gone")

    config = Config.of({"service.quota.flush": 0.1})
    with monkeypatch.context() as patched:
        patched.setattr(store, "put_many", fail)
        with counts_flushed(config, quotas, KeyRing(store, clock)):
            pass
    assert not Quotas(store, clock)._buckets
    with counts_flushed(config, quotas, KeyRing(store, clock)):
        pass
    assert not Quotas(store, clock).take("k", Scope.FETCH, TEN).is_granted


def test_threads_together_are_granted_no_more() -> None:
    clock = ManualClock(NOW_MS)
    quotas = Quotas(MemoryStore(clock), clock)
    granted: list[bool] = []

    def take() -> None:
        for _ in range(50):
            granted.append(quotas.take("k", Scope.FETCH, TEN).is_granted)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 20


@settings(max_examples=scaled(200))
@given(
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 30)), max_size=60),
    st.integers(1, 20),
    st.integers(1, 30),
)
def test_never_more_than_the_bucket_and_its_rate(
    requests: list[tuple[int, int]], rate: int, burst: int
) -> None:
    clock = ManualClock(NOW_MS)
    quotas = Quotas(MemoryStore(clock), clock)
    quota = Quota(per_second=rate, burst=burst)
    began, granted = clock.monotonic(), 0
    for wait_ms, count in requests:
        clock.advance(wait_ms / 1000)
        answer = quotas.take("k", Scope.FETCH, quota, count)
        granted += count if answer.is_granted else 0
        assert granted <= burst + rate * (clock.monotonic() - began) + 1e-3
        if answer.reason is QuotaReason.RATE:
            clock.advance(answer.retry_after_seconds + 0.001)
            assert quotas.take("k", Scope.FETCH, quota, count).is_granted
            granted += count


def test_defaults_are_configured_by_class() -> None:
    config = Config.of({"service.quota.fetch.rate": 3, "service.quota.fetch.day": 100})
    assert default_quota(config, Scope.FETCH) == Quota(per_second=3, burst=100, per_day=100)
    assert default_quota(config, Scope.ADMIN).is_unlimited
    assert Quota(per_second=3).capacity == 30
