from __future__ import annotations

from crawl.clock import Clock, SystemClock, as_segment_name, as_text
from crawl.testing.clock import ManualClock

MOMENT = 1_794_735_000_999


def test_the_systems_clock_runs() -> None:
    clock = SystemClock()
    assert clock.now_ms() > 1_700_000_000_000
    first = clock.monotonic()
    assert clock.monotonic() >= first


def test_a_manual_clock_stands_until_it_is_advanced() -> None:
    clock: Clock = ManualClock(MOMENT)
    before = clock.monotonic()
    assert clock.now_ms() == clock.now_ms() == MOMENT
    assert isinstance(clock, ManualClock)
    clock.advance(1.5)
    assert clock.now_ms() == MOMENT + 1500
    assert clock.monotonic() - before == 1.5


def test_moments_as_text() -> None:
    assert as_text(MOMENT) == "2026-11-15 09:30:00 UTC"
    assert as_text(0) == "1970-01-01 00:00:00 UTC"
    assert as_segment_name(MOMENT) == "20261115093000"
