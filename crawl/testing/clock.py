"""A clock that a test owns."""

from __future__ import annotations


class ManualClock:
    """Stands still until it is advanced."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic = 0.0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)
        self._monotonic += seconds
