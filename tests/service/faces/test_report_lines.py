"""The lines that `crawl serve` writes while it runs."""

from __future__ import annotations

from crawl.fetcher.frontier.queue_stats import IdleQueues
from crawl.service.faces.report_lines import ReportLines
from crawl.service.service_stats import ServiceStats


class ManualClock:
    """Time that a test moves on."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now_ms(self) -> int:
        return int(self._seconds * 1000)

    def monotonic(self) -> float:
        return self._seconds

    def advance(self, seconds: float) -> None:
        self._seconds += seconds


def stats(waiting: int = 0, claimed: int = 0, **counters: int) -> ServiceStats:
    return ServiceStats(
        waiting={"normal": waiting},
        claimed=claimed,
        in_lane=0,
        per_second=0.0,
        counters={name.replace("__", "."): count for name, count in counters.items()},
        is_ready=True,
        hosts=IdleQueues(0),
        segment_age_s=0.0,
        published_ms=0,
        search_behind_s=0.0,
        store_failing_s=0.0,
    )


def test_a_minute_is_told_by_what_changed_in_it() -> None:
    clock = ManualClock()
    lines = ReportLines(clock)
    assert not lines.is_due()
    clock.advance(60)
    assert lines.is_due()
    first = stats(2, 1, ended__finished=1500, refused__busy=7, refused__scheme=1)
    assert lines.line(first) == (
        "1,500 URLs finished in 60 s; 2 wait, 1 are at work; 8 refused (busy 7, scheme 1)"
    )
    assert not lines.is_due()
    clock.advance(61)
    second = stats(0, 0, ended__finished=1510, refused__busy=7, refused__scheme=1)
    assert lines.line(second) == "10 URLs finished in 61 s; 0 wait, 0 are at work"


def test_nothing_is_said_of_a_minute_in_which_nothing_happened() -> None:
    clock = ManualClock()
    lines = ReportLines(clock)
    assert lines.line(stats(ended__finished=3)) is not None
    clock.advance(60)
    assert lines.line(stats(ended__finished=3)) is None
    clock.advance(60)
    assert lines.line(stats(1, ended__finished=3)) is not None, "what waits is told of"


def test_a_line_names_no_more_reasons_than_can_be_read() -> None:
    lines = ReportLines(ManualClock())
    counters = {f"refused__r{number}": number for number in range(1, 9)}
    line = lines.line(stats(**counters))
    assert line is not None and line.endswith("36 refused (r8 8, r7 7, r6 6, …)")
