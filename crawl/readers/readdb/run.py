"""readdb: statistics, the best URLs, and dumps of the CrawlDb."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from crawl.clock import as_text
from crawl.driver.output_folder import SUCCESS
from crawl.model.arrow import strings
from crawl.model.status import status_label
from crawl.readers.slices import over_slices
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.parquet import each_group, open_table
from crawl.tables.bucket_files import largest_first
from crawl.tables.dump import DumpJob, dump_slice
from crawl.tables.exchange import BlockSource
from crawl.tables.runner import Runner
from crawl.tables.stats import ColumnRange, CrawlDbStats, bucket_stats


def stats(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot, *, by_host: bool
) -> CrawlDbStats:
    """The statistics of a snapshot."""
    buckets = runner.run(
        partial(bucket_stats, crawl_dir.crawldb.folder, by_host),
        largest_first(snapshot.files),
        "readdb: statistics",
    )
    total = CrawlDbStats()
    for bucket in buckets:
        total.add(bucket)
    return total


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


@dataclass(frozen=True, slots=True)
class ScoredUrl:
    score: float
    url: str


def top_of_bucket(crawldb: Folder, most: int, least: float, file: BucketFile) -> list[ScoredUrl]:
    """The bucket's `most` best URLs with a score of at least `least`, best first."""
    best_urls: list[ScoredUrl] = []
    with open_table(crawldb, file.path, size=file.bytes) as source:
        for rows in each_group(source, ["url", "score"]):
            score = rows["score"].to_numpy()
            best = np.flatnonzero(score >= least)
            if len(best) > most:
                best = best[np.argpartition(-score[best], most - 1)[:most]]
            urls = strings(rows["url"].take(best))
            best_urls += [
                ScoredUrl(float(score[row]), url) for row, url in zip(best, urls, strict=True)
            ]
            best_urls = best_of(best_urls, most)
    return best_urls


def best_of(urls: list[ScoredUrl], most: int) -> list[ScoredUrl]:
    """The best of these, best first; equal scores in order of URL."""
    return sorted(urls, key=lambda entry: (-entry.score, entry.url))[:most]


def top(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot, most: int, least: float
) -> list[ScoredUrl]:
    """The `most` URLs with the highest scores, best first."""
    buckets = runner.run(
        partial(top_of_bucket, crawl_dir.crawldb.folder, most, least),
        largest_first(snapshot.files),
        "readdb: top",
    )
    return best_of([entry for bucket in buckets for entry in bucket], most)


def dump(
    job: DumpJob, runner: Runner, snapshot: Snapshot, matching: BlockSource | None = None
) -> int:
    """Writes the wanted records into a folder that has room; returns how many."""
    written = over_slices(runner, snapshot, partial(dump_slice, job), matching, "readdb", "dump")
    job.output.write(SUCCESS, b"")
    return sum(written)
