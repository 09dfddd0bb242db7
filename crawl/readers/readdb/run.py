"""readdb: statistics, the best URLs, and dumps of the CrawlDb."""

from __future__ import annotations

from functools import partial

from crawl.driver.output_folder import SUCCESS
from crawl.readers.readdb.top_urls import ScoredUrl, best_of, top_of_bucket
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.dump import DumpJob, dump_slice
from crawl.tables.exchange import NOTHING, BlockSource, Outbox
from crawl.tables.runner import Runner
from crawl.tables.slices import Slice, Slices
from crawl.tables.stats import CrawlDbStats, bucket_stats


def stats(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot, *, by_host: bool
) -> CrawlDbStats:
    """The statistics of a snapshot."""
    found = runner.run(
        partial(bucket_stats, crawl_dir.crawldb.folder, by_host),
        largest_first(snapshot.files),
        "readdb: statistics",
    )
    total = CrawlDbStats()
    for bucket in found:
        total.add(bucket)
    return total


def top(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot, most: int, least: float
) -> list[ScoredUrl]:
    """The `most` URLs with the highest scores, best first."""
    found = runner.run(
        partial(top_of_bucket, crawl_dir.crawldb.folder, most, least),
        largest_first(snapshot.files),
        "readdb: top",
    )
    return best_of([entry for bucket in found for entry in bucket], most)


def dump(runner: Runner, snapshot: Snapshot, job: DumpJob, matching: BlockSource | None) -> int:
    """Writes the wanted records into a folder that has room; returns how many. `matching` brings
    the rows that `--expr` holds for to their slices."""
    slices = Slices.of(snapshot, snapshot.buckets)
    tasks = largest_first(slices.stored())
    if matching is None:
        written = runner.run(partial(_dump_all, job), tasks, "readdb: dump")
    else:
        matches = runner.exchange(_send_nothing, (), len(slices), "readdb: expr", [matching])
        written = matches.run(
            partial(dump_slice, job), [(task.number, task) for task in tasks], "readdb: dump"
        )
    rows = sum(written)
    job.output.write(SUCCESS, b"")
    return rows


def _dump_all(job: DumpJob, base: Slice) -> int:
    return dump_slice(job, base, NOTHING)


def _send_nothing(task: None, outbox: Outbox) -> None:
    """Where only a source sends."""
