"""Feeds the Spark driver's metrics from the progress reports of a fetch's tasks
(task_monitor.py), so that no worker needs a port and any store will do.

A task that is tried again counts from zero: what is added is what each run of a part has
counted since its last report.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.fetcher.reporting.part_reports import PartReports
from crawl.fetcher.values.outcome import BY_CLASS, BY_CODE, BY_FAILURE
from crawl.interfaces.protocol import FailureKind
from crawl.model.status import Status
from crawl.storage.folder import Folder
from crawl.storage.segments import PartFile
from crawl.telemetry import ambient, metrics
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import Metric
from crawl.telemetry.repeating import repeating

_PLAIN: dict[str, Metric] = {
    "requests": metrics.FETCH_REQUESTS,
    "bytes": metrics.FETCH_BYTES,
    "robots_denied": metrics.FETCH_ROBOTS_DENIED,
    "robots_requests": metrics.FETCH_ROBOTS_REQUESTS,
    "queues_closed": metrics.FETCH_QUEUES_CLOSED,
    "hung_threads": metrics.FETCH_HUNG_THREADS,
}
_UNDER_WAY = (
    *(metrics.FETCH_THREADS_BUSY, metrics.FETCH_URLS_WAITING),
    *(metrics.FETCH_LONGEST_QUEUE, metrics.FETCH_SILENCE),
)
_FAMILIES: dict[str, tuple[Metric, str]] = {
    "handed_back.": (metrics.FETCH_HANDED_BACK, "reason"),
    "redirects_": (metrics.FETCH_REDIRECTS, "outcome"),
    "parse.": (metrics.PARSE_PAGES, "outcome"),
}
"""Counters that begin so, and the label that the rest of their name is."""
_STATUSES = frozenset(status.label for status in Status if status.is_fetch)
_QUEUE_STATES = ("ready", "waiting", "awaiting_robots", "backed_off", "blocked")

_log = logging.getLogger(__name__)


@contextmanager
def fetch_metrics(segment: Folder, parts: Sequence[PartFile], clock: Clock) -> Iterator[None]:
    """Keeps the process's meter up to date while the tasks of a fetch run."""
    meter = ambient.meter()
    if meter is None:
        yield
        return
    metrics_of_fetch = FetchMetrics(segment, parts, meter, clock)
    metrics_of_fetch.begin()
    try:
        with repeating(metrics_of_fetch.poll, ambient.settings().interval_s, "fetch-metrics"):
            yield
    finally:
        metrics_of_fetch.end()


@dataclass(slots=True)
class FetchMetrics:
    """The metrics of one fetch, over all its parts."""

    segment: Folder
    parts: Sequence[PartFile]
    meter: Meter
    clock: Clock
    _last_reports: dict[str, tuple[Counters, list[int], int]] = field(default_factory=dict)
    """What each run of a part has reported."""
    _reports: PartReports | None = None

    def begin(self) -> None:
        """Begins all counters at zero; reports that are there by now are of an earlier fetch."""
        self._reports = PartReports(self.segment, self.parts)
        meter = self.meter
        for metric in _PLAIN.values():
            meter.add(metric, 0)
        for status in sorted(_STATUSES):
            meter.add(metrics.FETCH_PAGES, 0, status=status)
        meter.set(metrics.FETCH_PARTS, len(self.parts), state="listed")
        meter.set(metrics.FETCH_URLS_LEFT, sum(part.rows for part in self.parts))

    def poll(self) -> None:
        """Takes in the reports of the parts."""
        try:
            reports = [] if self._reports is None else self._reports.read()
            for report in reports:
                self._count(report)
            self._set_gauges(reports)
        except Exception:
            # a fetch must not suffer from being measured
            _log.warning("the metrics of the fetch cannot be read", exc_info=True)

    def end(self) -> None:
        """Sets to zero what is under way, also where tasks died without a last report."""
        for metric in _UNDER_WAY:
            self.meter.set(metric, 0)
        for state in _QUEUE_STATES:
            self.meter.set(metrics.FETCH_QUEUES, 0, state=state)

    def _count(self, report: dict[str, Any]) -> None:
        run = str(report.get("run"))
        counters = Counters(report.get("counters", {}))
        times = report.get("request_times", {})
        counts, spent = list(times.get("counts", [])), int(times.get("ms", 0))
        nothing = Counters(), [0] * len(counts), 0
        was, counts_were, spent_was = self._last_reports.get(run, nothing)
        self._last_reports[run] = (counters, counts, spent)
        for name, count in counters.items():
            if count > was[name]:
                count_event(self.meter, name, count - was[name])
        if counts:
            new = [now - then for now, then in zip(counts, counts_were, strict=True)]
            self.meter.merge(metrics.FETCH_REQUEST_SECONDS, new, (spent - spent_was) / 1000)

    def _set_gauges(self, reports: list[dict[str, Any]]) -> None:
        meter = self.meter

        def total(name: str) -> float:
            return float(sum(report.get(name, 0) for report in reports))

        def most(name: str) -> float:
            return max((float(report.get(name, 0)) for report in reports), default=0.0)

        meter.set(metrics.FETCH_THREADS_BUSY, total("busy_threads"))
        meter.set(metrics.FETCH_URLS_WAITING, total("waiting"))
        robots, backed_off = total("queues_awaiting_robots"), total("queues_backed_off")
        closed = sum(report.get("counters", {}).get("queues_closed", 0) for report in reports)
        waiting = total("queues_waiting") - robots - backed_off
        states = (total("queues_ready"), waiting, robots, backed_off, closed)
        for state, count in zip(_QUEUE_STATES, states, strict=True):
            meter.set(metrics.FETCH_QUEUES, count, state=state)
        are_all_reported = len(reports) == len(self.parts)
        listed = sum(part.rows for part in self.parts)
        unreported = 0 if are_all_reported else listed - total("urls")
        meter.set(metrics.FETCH_URLS_LEFT, max(0, unreported) + sum(map(_urls_left, reports)))
        meter.set(metrics.FETCH_PARTS, len(reports), state="told")
        meter.set(metrics.FETCH_PARTS, sum(bool(t.get("ended")) for t in reports), state="ended")
        meter.set(metrics.FETCH_LONGEST_QUEUE, most("longest_queue_s"))
        now = self.clock.now_ms()
        waits = [now - int(report["told_ms"]) for report in reports if not report.get("ended")]
        meter.set(metrics.FETCH_SILENCE, max(0, *waits, 0) / 1000)
        meter.set(metrics.FETCH_WORKER_MEMORY, most("memory_bytes"))


def _urls_left(report: dict[str, Any]) -> int:
    """URLs of a part, of its list or followed, that are neither recorded nor returned."""
    total = int(report.get("urls", 0)) + int(report.get("followed", 0))
    return max(0, total - int(report.get("done", 0)))


def count_event(meter: Meter, name: str, count: int) -> None:
    """Adds a counter of the engine, or of the inline parse, to its metric; some have none."""
    if name in _PLAIN:
        meter.add(_PLAIN[name], count)
    elif name in _STATUSES:
        meter.add(metrics.FETCH_PAGES, count, status=name)
    elif name.startswith("answers."):
        answer, status = _answer(name.removeprefix("answers."))
        meter.add(metrics.FETCH_ANSWERS, count, answer=answer, protocol_status=status)
    for beginning, (metric, label) in _FAMILIES.items():
        if name.startswith(beginning):
            meter.add(metric, count, **{label: name.removeprefix(beginning)})


def is_measured(name: str) -> bool:
    """Whether a counter of a fetch has a metric of its own."""
    return name in _PLAIN or name in _STATUSES or name.startswith(("answers.", *_FAMILIES))


_CODES = frozenset(code.value for code in HTTPStatus)


def _answer(reason: str) -> tuple[str, str]:
    """An answer's label and its protocol status; codes that nobody knows are one a class."""
    digits = reason.removeprefix("http_")
    if digits != reason and digits.isdigit():
        code = int(digits)
        outcome = BY_CODE.get(code) or BY_CLASS.get(code // 100) or BY_CLASS[1]
        label = reason if code in _CODES else f"http_{min(code // 100, 9)}xx"
        return label, outcome.protocol_label
    try:
        return reason, BY_FAILURE[FailureKind(reason)].protocol_label
    except ValueError:
        return "other", "exception"
