"""The statistics of a CrawlDb, under Nutch's JSON keys."""

from __future__ import annotations

from collections import Counter
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
        row = {"min": values.least, "avg": values.mean, "max": values.greatest}
        return {name: as_text(round(x)) if times else x for name, x in row.items()}

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
            for host, counts in sorted(stats.hosts.items(), key=_most_first)[:most_hosts]
        }
    return content


def _most_first(entry: tuple[str, Counter[int]]) -> tuple[int, str]:
    """The hosts with the most URLs come first."""
    return -entry[1].total(), entry[0]
