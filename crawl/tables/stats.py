"""Statistics of a CrawlDb: a summary of each bucket, and summaries added up."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from crawl.counters import Counters
from crawl.model.status import status_label
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_table
from crawl.tables.value_counts import value_counts

_MAX_SCORES = 8192
"""Evenly ranked scores kept of each bucket: quantiles are exact for small buckets and
off by at most 1/8192 of the rank for large ones."""


@dataclass(slots=True)
class ColumnRange:
    """Least, greatest and mean of a column."""

    count: int = 0
    least: float = float("inf")
    greatest: float = float("-inf")
    total: float = 0.0

    def take(self, values: npt.NDArray[np.number]) -> None:
        if len(values):
            total = float(values.sum(dtype=np.float64))
            least, greatest = float(values.min()), float(values.max())
            self.add(ColumnRange(len(values), least, greatest, total))

    def add(self, other: ColumnRange) -> None:
        self.count += other.count
        self.least = min(self.least, other.least)
        self.greatest = max(self.greatest, other.greatest)
        self.total += other.total

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else float("nan")


@dataclass(slots=True)
class CrawlDbStats:
    """What is known of a bucket, or of all of them."""

    urls: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    retries: Counter[int] = field(default_factory=Counter)
    score: ColumnRange = field(default_factory=ColumnRange)
    scores_nan: int = 0
    fetch_time_ms: ColumnRange = field(default_factory=ColumnRange)
    fetch_interval_s: ColumnRange = field(default_factory=ColumnRange)
    ranked_scores: list[tuple[npt.NDArray[np.float32], float]] = field(default_factory=list)
    """Scores in order, and how many rows each stands for."""
    hosts: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """Records of each host by status; only where asked for."""

    def add(self, other: CrawlDbStats) -> None:
        self.urls += other.urls
        self.statuses += other.statuses
        self.retries += other.retries
        self.score.add(other.score)
        self.scores_nan += other.scores_nan
        self.fetch_time_ms.add(other.fetch_time_ms)
        self.fetch_interval_s.add(other.fetch_interval_s)
        self.ranked_scores += other.ranked_scores
        for host, statuses in other.hosts.items():
            self.hosts[host].update(statuses)

    def quantiles(self, shares: tuple[float, ...]) -> dict[float, float]:
        """The score below which each share of the URLs lies."""
        if not self.ranked_scores:
            return {}
        values = np.concatenate([scores for scores, _ in self.ranked_scores])
        weights = np.concatenate([np.full(len(s), weight) for s, weight in self.ranked_scores])
        order = np.argsort(values)
        upto = np.cumsum(weights[order])
        places = np.searchsorted(upto, np.array(shares) * upto[-1])
        at_shares = values[order][np.minimum(places, len(values) - 1)]
        return {share: float(value) for share, value in zip(shares, at_shares, strict=True)}


def bucket_stats(crawldb: Folder, by_host: bool, file: BucketFile) -> CrawlDbStats:
    """The statistics of one bucket."""
    stats = CrawlDbStats()
    scores: list[npt.NDArray[np.float32]] = []
    columns = ["status", "retries", "score", "fetch_time", "fetch_interval"]
    with open_table(crawldb, file.path, host_codes=True, size=file.bytes) as source:
        for rows in each_group(source, ["host", *columns] if by_host else columns):
            status = rows["status"].to_numpy()
            stats.urls += rows.num_rows
            stats.statuses.update(_counted(status))
            stats.retries.update(_counted(rows["retries"].to_numpy()))
            score = rows["score"].to_numpy()
            usable = score[~np.isnan(score)]
            stats.scores_nan += len(score) - len(usable)
            stats.score.take(usable)
            scores.append(usable)
            stats.fetch_time_ms.take(rows["fetch_time"].to_numpy().view(np.int64))
            stats.fetch_interval_s.take(rows["fetch_interval"].to_numpy())
            if by_host:
                counts = value_counts(rows.select(["host", "status"])).to_pydict()
                for host, code, count in zip(*counts.values(), strict=True):
                    stats.hosts[host][code] += count
    stats.ranked_scores = _thinned(scores)
    return stats


def count_statuses(crawldb: Folder, file: BucketFile) -> Counters:
    """One bucket's records by status, of which nothing else is read."""
    counters = Counters()
    with open_table(crawldb, file.path, size=file.bytes) as source:
        for rows in each_group(source, ["status"]):
            for code, count in _counted(rows["status"].to_numpy()).items():
                counters[status_label(code)] += count
    return counters


def _thinned(scores: list[npt.NDArray[np.float32]]) -> list[tuple[npt.NDArray[np.float32], float]]:
    ordered = np.sort(np.concatenate(scores)) if scores else np.empty(0, dtype=np.float32)
    if len(ordered) <= _MAX_SCORES:
        return [(ordered, 1.0)] if len(ordered) else []
    places = ((np.arange(_MAX_SCORES) + 0.5) * len(ordered) / _MAX_SCORES).astype(np.int64)
    return [(ordered[places], len(ordered) / _MAX_SCORES)]


def _counted(values: npt.NDArray[np.integer]) -> Counter[int]:
    distinct, counts = np.unique(values, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
