"""readdb: statistics, the best URLs, and dumps of the CrawlDb."""

from __future__ import annotations

from functools import partial

from crawl.driver.output_folder import SUCCESS
from crawl.readers.readdb.top_urls import ScoredUrl, best_of, top_of_bucket
from crawl.readers.slices import over_slices
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.dump import DumpJob, dump_slice
from crawl.tables.exchange import BlockSource
from crawl.tables.runner import Runner
from crawl.tables.stats import CrawlDbStats, bucket_stats


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
