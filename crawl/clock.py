"""The only place that asks the machine for the time.

Everything else is handed a Clock, so that a test owns time and a phase stamps all its
records with one moment.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

MAX_LOOK_DAYS = 1_000_000
"""How far anybody may look ahead: what lies much further back or ahead is no moment any more."""


class Clock(Protocol):
    """Where time comes from."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC, as stored in every table."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, for measuring durations."""
        ...


class SystemClock:
    """The machine's own clocks."""

    monotonic = staticmethod(time.monotonic)  # no call of ours around it: it is asked often

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def as_text(time_ms: int) -> str:
    """A moment as people read it: `2026-11-15 09:30:00 UTC`."""
    at = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


def moment(time_ms: int) -> str:
    """The same of any number; one that no calendar has stays a number."""
    try:
        return as_text(time_ms)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"


def as_segment_name(time_ms: int) -> str:
    """A moment as Nutch names a segment: `20261115093000`."""
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).strftime("%Y%m%d%H%M%S")
