"""Percentiles of what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec


class Latencies(msgspec.Struct):
    """Seconds, of so many."""

    count: int
    p50: float
    p90: float
    p99: float
    most: float


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so large a share does not exceed; of nothing, no number."""
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def latencies(seconds: Iterable[float]) -> Latencies:
    ordered = sorted(seconds)
    at = {share: percentile(ordered, share) for share in (0.5, 0.9, 0.99, 1.0)}
    return Latencies(len(ordered), at[0.5], at[0.9], at[0.99], at[1.0])
