from __future__ import annotations

from crawl.fetcher.reporting.request_times import RequestTimes


def test_all_are_counted_and_a_bounded_sample_is_kept() -> None:
    times = RequestTimes()
    for milliseconds in range(50_000):
        times.add(milliseconds)
    assert sum(times.counts) == 50_000
    assert times.total_ms == sum(range(50_000))
    assert len(times.sample) == len(set(times.sample)) == 10_000


def test_the_sample_is_a_fair_one() -> None:
    times = RequestTimes()
    for milliseconds in range(50_000):
        times.add(milliseconds)
    by_tenth = [0] * 10
    for milliseconds in times.sample:
        by_tenth[milliseconds // 5_000] += 1
    assert all(800 <= count <= 1_200 for count in by_tenth)
