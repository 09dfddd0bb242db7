"""How long each step of a phase took, for its report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawl.clock import Clock
from crawl.model.report import Report


@contextmanager
def timed(report: Report, step: str, clock: Clock) -> Iterator[None]:
    """Adds the block's seconds to the report's durations."""
    started = clock.monotonic()
    try:
        yield
    finally:
        spent = clock.monotonic() - started
        report.durations_s[step] = round(report.durations_s.get(step, 0.0) + spent, 3)
