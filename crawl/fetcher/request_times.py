"""How long requests took, counted by the bounds that the metrics have: a page costs one
search in a dozen numbers, whoever listens or not."""

from __future__ import annotations

from bisect import bisect_left

from crawl.telemetry.metrics import FETCH_REQUEST_SECONDS

_BOUNDS_MS = tuple(round(bound * 1000) for bound in FETCH_REQUEST_SECONDS.bounds)


class RequestTimes:
    """Of one task."""

    __slots__ = ("counts", "total_ms")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_MS) + 1)
        self.total_ms = 0

    def take(self, milliseconds: int) -> None:
        self.counts[bisect_left(_BOUNDS_MS, milliseconds)] += 1
        self.total_ms += milliseconds
