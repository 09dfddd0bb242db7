"""How long requests took: counted by the bounds that the metrics have, and a fair sample of
them. A page costs one search in a dozen numbers, whoever listens or not."""

from __future__ import annotations

import random
from bisect import bisect_left

from crawl.fetcher.values.record import FetchRecord
from crawl.telemetry.metrics import FETCH_REQUEST_SECONDS

_BOUNDS_MS = tuple(round(bound * 1000) for bound in FETCH_REQUEST_SECONDS.bounds)
_MOST = 10_000


class RequestTimes:
    """Of one task."""

    __slots__ = ("_chance", "_met", "counts", "sample", "total_ms")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_MS) + 1)
        self.total_ms = 0
        self.sample: list[int] = []
        self._met = 0
        self._chance = random.Random(0)

    def observe(self, record: FetchRecord) -> None:
        if record.response_ms is not None:
            self.add(record.response_ms)

    def add(self, milliseconds: int) -> None:
        self.counts[bisect_left(_BOUNDS_MS, milliseconds)] += 1
        self.total_ms += milliseconds
        self._met += 1
        if self._met <= _MOST:
            self.sample.append(milliseconds)
        elif (place := int(self._chance.random() * self._met)) < _MOST:
            self.sample[place] = milliseconds
