"""The statistics of a CrawlDb, under Nutch's JSON keys."""

from __future__ import annotations

from typing import Any

from crawl.clock import as_text
from crawl.model.status import status_label
from crawl.storage.manifest import Snapshot
from crawl.tables.stats import ColumnRange, CrawlDbStats


def statistics(
    stats: CrawlDbStats, quantiles: dict[float, float], snapshot: Snapshot, most_hosts: int
) -> dict[str, Any]:
    """All of them; of hosts only the largest."""

    def spread(values: ColumnRange, *, times: bool = False) -> dict[str, object] | None:
        if not values.count:
            return None
        return dict(zip(("min", "avg", "max"), spread_values(values, times=times), strict=True))

    content: dict[str, Any] = {
        "snapshot": snapshot.number,
        "urls": stats.urls,
        "status": {status_label(code): count for code, count in sorted(stats.statuses.items())},
        "retries": {str(value): count for value, count in sorted(stats.retries.items())},
        "score": spread(stats.score),
        "scoreQuantiles": {f"{share:g}": score for share, score in quantiles.items()},
        "scoreNaN": stats.scores_nan,
        "fetchTime": spread(stats.fetch_time_ms, times=True),
        "fetchInterval": spread(stats.fetch_interval_s),
    }
    if stats.hosts:
        content["hosts"] = {
            host: {status_label(code): count for code, count in sorted(counts.items())}
            for host, counts in largest_hosts(stats, most_hosts)
        }
    return content


def largest_hosts(stats: CrawlDbStats, most: int) -> list[tuple[str, Any]]:
    """The hosts with the most URLs, with their URLs by status."""
    return sorted(stats.hosts.items(), key=lambda entry: (-entry[1].total(), entry[0]))[:most]


def spread_values(spread: ColumnRange, *, times: bool = False) -> list[object]:
    """The least, mean and greatest of some values; times as texts."""
    values = [spread.least, spread.mean, spread.greatest]
    return [as_text(round(value)) for value in values] if times else list(values)
