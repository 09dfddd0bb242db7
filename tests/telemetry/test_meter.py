from __future__ import annotations

import threading

import pytest

from crawl.telemetry.meter import MAX_SERIES, Meter
from crawl.telemetry.metrics import (
    FETCH_HANDED_BACK,
    FETCH_REQUESTS,
    FETCH_URLS_LEFT,
    LABELS_FOLDED,
    TASK_SECONDS,
)


def test_counters_add_up_and_gauges_are_replaced() -> None:
    meter = Meter()
    meter.add(FETCH_REQUESTS, 3)
    meter.add(FETCH_REQUESTS)
    meter.set(FETCH_URLS_LEFT, 7)
    meter.set(FETCH_URLS_LEFT, 5)
    assert meter.value(FETCH_REQUESTS) == 4
    assert meter.value(FETCH_URLS_LEFT) == 5


def test_what_nobody_reported_is_not_there() -> None:
    assert Meter().value(FETCH_REQUESTS) is None
    assert Meter().samples() == []


def test_a_value_on_a_bound_belongs_below_it() -> None:
    meter = Meter()
    for seconds in (0.05, 0.1, 0.10001, 5000, 99999):
        meter.observe(TASK_SECONDS, seconds, phase="parse", step="parse")
    ((metric, (sample,)),) = meter.samples()
    assert metric is TASK_SECONDS
    assert sample.labels == ("parse", "parse")
    assert sample.histogram is not None
    assert sample.histogram.counts == [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    assert sample.histogram.total == pytest.approx(104999.25001)


def test_labels_that_somebody_invents_do_not_make_series_without_end() -> None:
    meter = Meter()
    for number in range(MAX_SERIES + 50):
        meter.add(FETCH_HANDED_BACK, reason=f"r{number}")
    meter.add(FETCH_HANDED_BACK, reason="r0")
    samples = dict(meter.samples())[FETCH_HANDED_BACK]
    assert len(samples) == MAX_SERIES + 1
    assert sum(sample.value for sample in samples) == MAX_SERIES + 51, "nothing is lost"
    assert meter.value(FETCH_HANDED_BACK, reason="r0") == 2
    assert meter.value(FETCH_HANDED_BACK, reason="other") == 50
    assert meter.value(LABELS_FOLDED) == 50


def test_a_label_that_the_metric_does_not_have_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="nutria_fetch_handed_back_total"):
        Meter().add(FETCH_HANDED_BACK, host="example.org")


def test_threads_lose_nothing() -> None:
    meter = Meter()

    def count() -> None:
        for _ in range(2000):
            meter.add(FETCH_REQUESTS)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.value(FETCH_REQUESTS) == 8000
