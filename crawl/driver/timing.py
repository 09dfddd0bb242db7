"""How long each step of a phase took and what it cost, for its report and its span."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawl.clock import Clock
from crawl.model.costs import EngineCosts
from crawl.model.report import Report
from crawl.telemetry.ambient import span
from crawl.telemetry.context import in_context
from crawl.telemetry.costs import cost_account, current_account


@contextmanager
def timed(report: Report, step: str, clock: Clock) -> Iterator[None]:
    """Adds the block's seconds to the report's durations, and its costs to the report's. Their
    total is that of the phase so far, the driver's reads and writes between steps included."""
    phase = current_account()
    started = clock.monotonic()
    with cost_account() as account:
        try:
            with in_context(step=step), span(f"{report.phase}: {step}"):
                yield
        finally:
            spent = clock.monotonic() - started
            report.durations_s[step] = round(report.durations_s.get(step, 0.0) + spent, 3)
    before = report.engine_steps.get(step, EngineCosts())
    report.engine_steps[step] = before + account.total
    report.engine = (
        sum(report.engine_steps.values(), EngineCosts()) if phase is None else phase.total
    )
