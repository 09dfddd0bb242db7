"""How long each step of a phase took, for its report and its span."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawl.clock import Clock
from crawl.model.report import Report
from crawl.telemetry.ambient import span
from crawl.telemetry.context import in_context


@contextmanager
def timed(report: Report, step: str, clock: Clock) -> Iterator[None]:
    """Adds the block's seconds to the report's durations."""
    started = clock.monotonic()
    try:
        with in_context(step=step), span(f"{report.phase}: {step}"):
            yield
    finally:
        spent = clock.monotonic() - started
        report.durations_s[step] = round(report.durations_s.get(step, 0.0) + spent, 3)
