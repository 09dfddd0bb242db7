"""What a CrawlDb for measuring is to be like, and the moment at which it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.clock import Clock, SystemClock

NOW_MS = 1_794_700_800_000
"""The benchmark's now (2026-11-15): data and runs agree on it."""

DAY_MS = 86_400_000
VERSION = 5
"""Raised whenever other data come out, so that no older files are reused."""


class BenchClock(Clock):
    """Stands at the data's now; durations are real."""

    def now_ms(self) -> int:
        return NOW_MS

    def monotonic(self) -> float:
        return SystemClock().monotonic()


@dataclass(frozen=True, slots=True)
class Shape:
    """What to make."""

    urls: int
    hosts: int
    buckets: int
    seeds: int
    fetched: int
    links: int
    seed: int
    giant: float = 0.10
    """The share of the URLs that are on one host."""
    file_rows: int = 4_000_000
    version: int = VERSION
