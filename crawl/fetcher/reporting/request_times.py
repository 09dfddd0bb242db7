"""How long requests took: a histogram with the bounds of the metric, and a fair sample. A page
costs one search in a dozen numbers, whether metrics are on or not."""

from __future__ import annotations

import random
from bisect import bisect_left

from crawl.fetcher.values.record import FetchRecord
from crawl.telemetry.metrics import FETCH_REQUEST_SECONDS

_BOUNDS_MS = tuple(round(bound * 1000) for bound in FETCH_REQUEST_SECONDS.bounds)
_MAX_SAMPLE = 10_000


class RequestTimes:
    """The times of one task's requests."""

    __slots__ = ("_count", "_rng", "counts", "sample", "total_ms")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_MS) + 1)
        self.total_ms = 0
        self.sample: list[int] = []
        self._count = 0
        self._rng = random.Random(0)

    def observe(self, record: FetchRecord) -> None:
        if record.response_ms is not None:
            self.add(record.response_ms)

    def add(self, milliseconds: int) -> None:
        self.counts[bisect_left(_BOUNDS_MS, milliseconds)] += 1
        self.total_ms += milliseconds
        self._count += 1
        if self._count <= _MAX_SAMPLE:
            self.sample.append(milliseconds)
        elif (place := int(self._rng.random() * self._count)) < _MAX_SAMPLE:
            self.sample[place] = milliseconds
