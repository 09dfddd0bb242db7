"""Holds the figures: plain numbers by metric and labels, until an exporter asks."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import KeysView, Sequence
from dataclasses import dataclass, field

from crawl.telemetry.metrics import LABELS_FOLDED, Metric, MetricKind

MAX_SERIES = 200
"""How many series one metric may have. A server may invent status codes and a plugin reasons: all
further ones are counted as `other`."""

Labels = tuple[str, ...]


@dataclass(slots=True)
class Histogram:
    """A histogram: how many values fell under each bound and above the one before."""

    counts: list[int]
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One series as it stands."""

    labels: Labels
    value: float = 0.0
    histogram: Histogram | None = None


@dataclass(slots=True)
class Meter:
    """Safe for threads: phases write, a scrape reads."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _values: dict[Metric, dict[Labels, float]] = field(default_factory=dict)
    _histograms: dict[Metric, dict[Labels, Histogram]] = field(default_factory=dict)

    def add(self, metric: Metric, amount: float = 1.0, **labels: str) -> None:
        """To a counter."""
        assert metric.kind is MetricKind.COUNTER
        with self._lock:
            series = self._values.setdefault(metric, {})
            key = self._key(metric, labels, series.keys())
            series[key] = series.get(key, 0.0) + amount

    def set(self, metric: Metric, value: float, **labels: str) -> None:
        """A gauge."""
        assert metric.kind is MetricKind.GAUGE
        with self._lock:
            series = self._values.setdefault(metric, {})
            series[self._key(metric, labels, series.keys())] = value

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """One value of a histogram."""
        assert metric.kind is MetricKind.HISTOGRAM
        with self._lock:
            histogram = self._histogram(metric, labels)
            histogram.counts[bisect_left(metric.bounds, value)] += 1
            histogram.total += value

    def merge(self, metric: Metric, counts: Sequence[int], total: float, **labels: str) -> None:
        """Values of a histogram that somebody else has counted by its bounds."""
        assert metric.kind is MetricKind.HISTOGRAM
        assert len(counts) == len(metric.bounds) + 1
        with self._lock:
            histogram = self._histogram(metric, labels)
            histogram.counts = [a + b for a, b in zip(histogram.counts, counts, strict=True)]
            histogram.total += total

    def samples(self) -> list[tuple[Metric, list[Sample]]]:
        """All that is known now."""
        with self._lock:
            result = [
                (metric, [Sample(labels, value) for labels, value in series.items()])
                for metric, series in self._values.items()
            ]
            for metric, histograms in self._histograms.items():
                copies = [
                    Sample(labels, histogram=Histogram(list(histogram.counts), histogram.total))
                    for labels, histogram in histograms.items()
                ]
                result.append((metric, copies))
            return result

    def value(self, metric: Metric, **labels: str) -> float | None:
        """The value of one series; None where there is none."""
        with self._lock:
            return self._values.get(metric, {}).get(_ordered(metric, labels))

    def _histogram(self, metric: Metric, labels: dict[str, str]) -> Histogram:
        series = self._histograms.setdefault(metric, {})
        key = self._key(metric, labels, series.keys())
        histogram = series.get(key)
        if histogram is None:
            histogram = series[key] = Histogram([0] * (len(metric.bounds) + 1))
        return histogram

    def _key(self, metric: Metric, labels: dict[str, str], keys: KeysView[Labels]) -> Labels:
        key = _ordered(metric, labels)
        if not key or key in keys or len(keys) < MAX_SERIES:
            return key
        folded = self._values.setdefault(LABELS_FOLDED, {})
        folded[()] = folded.get((), 0.0) + 1
        return ("other",) * len(key)


def _ordered(metric: Metric, labels: dict[str, str]) -> Labels:
    names = metric.labels
    key = tuple([labels[name] for name in names if name in labels])
    assert len(key) == len(names) == len(labels), f"{metric.name}: {sorted(labels)}"
    return key
