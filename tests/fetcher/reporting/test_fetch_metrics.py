"""Metrics of a fetch by the reports of its tasks, also where tasks die and are tried again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crawl.fetcher.reporting.fetch_metrics import FetchMetrics, count_event, is_measured
from crawl.fetcher.reporting.task_monitor import PROGRESS, settled_count
from crawl.storage.folder import Folder
from crawl.storage.segments import PartFile
from crawl.telemetry import metrics
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import FETCH_REQUEST_SECONDS, Metric
from crawl.testing.clock import ManualClock

NOW = 1_800_000_000_000
PARTS = [PartFile(0, "part-0", 100, 1), PartFile(1, "part-1", 50, 1)]
NO_TIMES = [0] * (len(FETCH_REQUEST_SECONDS.bounds) + 1)


class Fetch:
    """A fetch whose parts report what the test says."""

    def __init__(self, folder: Path) -> None:
        self.segment = Folder(str(folder))
        self.meter = Meter()
        self.clock = ManualClock(NOW)
        self.figures = FetchMetrics(self.segment, PARTS, self.meter, self.clock)

    def report(self, part: int, run: str, counters: dict[str, int], **more: Any) -> None:
        report = {
            "part": part,
            "urls": PARTS[part].rows,
            "done": settled_count(counters),
            "counters": counters,
            "request_times": {"counts": NO_TIMES, "ms": 0},
            "run": run,
            "told_ms": self.clock.now_ms(),
            **more,
        }
        name = f"{PROGRESS}/part-{part:05d}.json"
        self.segment.write(name, json.dumps(report).encode())

    def value(self, metric: Metric, **labels: str) -> float | None:
        return self.meter.value(metric, **labels)


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    return Fetch(tmp_path / "segment")


def test_parts_are_added_up_and_nothing_is_counted_twice(fetch: Fetch) -> None:
    fetch.figures.begin()
    fetch.report(0, "a", {"requests": 10, "fetch_success": 8, "answers.http_200": 8})
    fetch.report(1, "b", {"requests": 5})
    fetch.figures.poll()
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_REQUESTS) == 15
    fetch.report(0, "a", {"requests": 12, "fetch_success": 9, "answers.http_200": 9})
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_REQUESTS) == 17
    assert fetch.value(metrics.FETCH_PAGES, status="fetch_success") == 9
    answers = {"answer": "http_200", "protocol_status": "success"}
    assert fetch.value(metrics.FETCH_ANSWERS, **answers) == 9


def test_a_task_that_is_tried_again_counts_from_zero(fetch: Fetch) -> None:
    fetch.figures.begin()
    fetch.report(0, "a", {"requests": 10})
    fetch.figures.poll()
    fetch.report(0, "second", {"requests": 4})
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_REQUESTS) == 14


def test_reports_of_an_earlier_fetch_are_not_counted(fetch: Fetch) -> None:
    fetch.report(0, "before", {"requests": 99}, busy_threads=7)
    fetch.figures.begin()
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_REQUESTS) == 0
    assert fetch.value(metrics.FETCH_THREADS_BUSY) == 0
    fetch.report(0, "now", {"requests": 1}, busy_threads=2)
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_REQUESTS) == 1
    assert fetch.value(metrics.FETCH_THREADS_BUSY) == 2


def test_hosts_are_in_one_state_each(fetch: Fetch) -> None:
    fetch.figures.begin()
    fetch.report(
        0,
        "a",
        {"queues_closed": 2},
        queues_ready=3,
        queues_waiting=10,
        queues_awaiting_robots=4,
        queues_backed_off=1,
    )
    fetch.figures.poll()
    found = {
        state: fetch.value(metrics.FETCH_QUEUES, state=state)
        for state in ("ready", "waiting", "awaiting_robots", "backed_off", "blocked")
    }
    assert found == {
        "ready": 3,
        "waiting": 5,
        "awaiting_robots": 4,
        "backed_off": 1,
        "blocked": 2,
    }
    fetch.figures.end()
    assert fetch.value(metrics.FETCH_QUEUES, state="waiting") == 0


def test_urls_left_counts_parts_without_a_report(fetch: Fetch) -> None:
    fetch.figures.begin()
    assert fetch.value(metrics.FETCH_URLS_LEFT) == 150
    fetch.report(0, "a", {"records": 30, "handed_back.time_limit": 20, "no_host": 1})
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_URLS_LEFT) == 49 + 50


def test_the_longest_silence_is_measured_unless_its_part_has_ended(fetch: Fetch) -> None:
    fetch.figures.begin()
    fetch.report(0, "a", {}, ended=True)
    fetch.clock.advance(100)
    fetch.report(1, "b", {})
    fetch.clock.advance(7)
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_SILENCE) == 7
    assert fetch.value(metrics.FETCH_PARTS, state="ended") == 1


def test_request_times_are_added_by_their_bounds(fetch: Fetch) -> None:
    fetch.figures.begin()
    first = [1, *NO_TIMES[1:]]
    fetch.report(0, "a", {}, request_times={"counts": first, "ms": 4})
    fetch.figures.poll()
    fetch.report(0, "a", {}, request_times={"counts": [3, *NO_TIMES[2:], 1], "ms": 70_004})
    fetch.figures.poll()
    (sample,) = dict(fetch.meter.samples())[FETCH_REQUEST_SECONDS]
    assert sample.histogram is not None
    assert sample.histogram.counts == [3, *NO_TIMES[2:], 1]
    assert sample.histogram.total == pytest.approx(70.004)


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"told_ms": "x"}', b'{"told_ms": 1}'])
def test_what_is_being_written_harms_nobody(fetch: Fetch, torn: bytes) -> None:
    fetch.figures.begin()
    fetch.segment.write(f"{PROGRESS}/part-00000.json", torn)
    fetch.figures.poll()
    assert fetch.value(metrics.FETCH_REQUESTS) == 0


@pytest.mark.parametrize(
    ("name", "answer", "status"),
    [
        ("http_404", "http_404", "notfound"),
        ("http_503", "http_503", "retry"),
        ("http_299", "http_2xx", "success"),
        ("http_999", "http_9xx", "exception"),
        ("connect_timeout", "connect_timeout", "exception"),
        ("a plugin's own", "other", "exception"),
    ],
)
def test_answers_have_a_bounded_number_of_labels(name: str, answer: str, status: str) -> None:
    meter = Meter()
    count_event(meter, f"answers.{name}", 3)
    assert meter.value(metrics.FETCH_ANSWERS, answer=answer, protocol_status=status) == 3


def test_a_counter_with_a_metric_of_its_own_is_known() -> None:
    names = ("requests", "fetch_gone", "answers.http_200", "handed_back.hung", "redirects_followed")
    assert all(map(is_measured, names))
    assert not is_measured("outlinks_followed")
