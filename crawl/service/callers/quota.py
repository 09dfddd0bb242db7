"""Token buckets: how many URLs a key may ask for in a second, at once and in a day.

The counts survive a restart: they are written now and then, and at the end. What was taken
after the last writing is forgotten by a crash, so that it grants what one interval between two
writings may take, and no more. Each instance of the service counts for itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from crawl.clock import Clock
from crawl.service.callers.scope import Scope
from crawl.service.stores.scanning import scan_all
from crawl.service.stores.store import Row, Space, Store

_DAY_MS: Final = 86_400_000
_KEPT_MS: Final = 2 * _DAY_MS
"""After so long a bucket is full again, and its day over."""


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """What one key may ask for in one class of requests; -1: any number."""

    per_second: float = -1.0
    burst: int = 0
    """URLs at once, after a rest; 0: as many as in ten seconds."""
    per_day: int = -1

    @property
    def capacity(self) -> float:
        """The most tokens of the bucket."""
        return float(self.burst) if self.burst > 0 else max(1.0, 10 * self.per_second)

    @property
    def is_unlimited(self) -> bool:
        return self.per_second < 0 and self.per_day < 0


UNLIMITED: Final = Quota()


class QuotaReason(StrEnum):
    """Why a request is refused; empty where it is granted."""

    GRANTED = ""
    RATE = "rate_exceeded"
    DAY = "daily_quota_exceeded"
    TOO_MANY_AT_ONCE = "more_than_quota"
    """More in one request than the quota ever grants at once: to wait is in vain."""


@dataclass(frozen=True, slots=True)
class QuotaAnswer:
    """Whether a request is granted, or when to ask again."""

    reason: QuotaReason = QuotaReason.GRANTED
    retry_after_seconds: float = 0.0

    @property
    def is_granted(self) -> bool:
        return self.reason is QuotaReason.GRANTED


_GRANTED: Final = QuotaAnswer()


class _StoredBucket(msgspec.Struct, frozen=True, array_like=True):
    tokens: float
    at_ms: int
    day: int
    taken: int


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float
    """Monotonic seconds at which there were so many tokens."""
    day: int
    taken: int
    """In this day."""
    is_changed: bool = False


class Quotas:
    """The buckets of all keys. Safe to use from many threads."""

    def __init__(self, store: Store, clock: Clock, instance: str = "") -> None:
        """Takes up what `flush` of an instance with the same name has written."""
        self._store = store
        self._clock = clock
        self._prefix = f"quota/{instance}/".encode()
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._buckets: dict[tuple[str, Scope], _Bucket] = {}
        self._last_version = 0
        self._load()

    def take(self, holder: str, scope: Scope, quota: Quota, count: int = 1) -> QuotaAnswer:
        """Takes so many tokens of the holder's bucket, or none."""
        if quota.is_unlimited or count <= 0:
            return _GRANTED
        now, now_ms = self._clock.monotonic(), self._clock.now_ms()
        with self._lock:
            bucket = self._buckets.get((holder, scope))
            if bucket is None:
                bucket = _Bucket(quota.capacity, now, now_ms // _DAY_MS, 0)
                self._buckets[holder, scope] = bucket
            _refill(bucket, quota, now, now_ms)
            refused = _refusal(bucket, quota, count, now_ms)
            if refused is not None:
                return refused
            bucket.tokens -= count if quota.per_second >= 0 else 0
            bucket.taken += count
            bucket.is_changed = True
            return _GRANTED

    def taken_today(self, holder: str, scope: Scope) -> int:
        """How many were granted since midnight, UTC."""
        with self._lock:
            bucket = self._buckets.get((holder, scope))
            is_today = bucket is not None and bucket.day == self._clock.now_ms() // _DAY_MS
            return bucket.taken if bucket is not None and is_today else 0

    def flush(self) -> int:
        """Writes the buckets that have changed, and returns how many: to be called by a timer and
        at the end."""
        with self._flushing:
            return self._flush()

    def _flush(self) -> int:
        now, now_ms = self._clock.monotonic(), self._clock.now_ms()
        version = self._last_version = max(self._last_version + 1, now_ms)
        rows: list[Row] = []
        changed: list[_Bucket] = []
        with self._lock:
            for (holder, scope), bucket in list(self._buckets.items()):
                if bucket.is_changed:
                    at_ms = now_ms - round((now - bucket.at) * 1000)
                    stored = _StoredBucket(bucket.tokens, at_ms, bucket.day, bucket.taken)
                    key = self._prefix + f"{scope}/{holder}".encode()
                    rows.append(Row(key, _ENCODE(stored), version, now_ms + _KEPT_MS))
                    bucket.is_changed = False
                    changed.append(bucket)
                elif (now - bucket.at) * 1000 > _KEPT_MS:
                    del self._buckets[holder, scope]
        try:
            if rows:
                self._store.put_many(Space.STATE, rows)
        except BaseException:
            with self._lock:
                for bucket in changed:
                    bucket.is_changed = True
            raise
        return len(rows)

    def _load(self) -> None:
        now, now_ms = self._clock.monotonic(), self._clock.now_ms()
        for row in scan_all(self._store, Space.STATE, self._prefix):
            scope, _, holder = row.key.removeprefix(self._prefix).decode().partition("/")
            stored = _DECODE(row.value)
            # a clock that was set back gives nothing for the time that it repeats
            rest_seconds = max(0, now_ms - stored.at_ms) / 1000
            bucket = _Bucket(stored.tokens, now - rest_seconds, stored.day, stored.taken)
            self._buckets[holder, Scope(scope)] = bucket
            self._last_version = max(self._last_version, row.version)


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(_StoredBucket).decode


def _refill(bucket: _Bucket, quota: Quota, now: float, now_ms: int) -> None:
    if quota.per_second >= 0:
        grown = bucket.tokens + max(0.0, now - bucket.at) * quota.per_second
        bucket.tokens = min(quota.capacity, grown)
    bucket.at = now
    day = now_ms // _DAY_MS
    if day > bucket.day:
        bucket.day, bucket.taken = day, 0


def _refusal(bucket: _Bucket, quota: Quota, count: int, now_ms: int) -> QuotaAnswer | None:
    if quota.per_day >= 0 and bucket.taken + count > quota.per_day:
        if count > quota.per_day:
            return QuotaAnswer(QuotaReason.TOO_MANY_AT_ONCE)
        until_tomorrow = (bucket.day + 1) * _DAY_MS - now_ms
        return QuotaAnswer(QuotaReason.DAY, until_tomorrow / 1000)
    if quota.per_second < 0 or count <= bucket.tokens:
        return None
    if count > quota.capacity or quota.per_second == 0:
        return QuotaAnswer(QuotaReason.TOO_MANY_AT_ONCE)
    return QuotaAnswer(QuotaReason.RATE, (count - bucket.tokens) / quota.per_second)
