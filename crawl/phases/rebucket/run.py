"""rebucket: the same CrawlDb in more buckets.

Steps: split (a task a file of records) → hosts (a task a file of hosts) → publish. No row is sent
anywhere: what an old bucket has goes to new ones that get rows from nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_SNAPSHOTS_KEEP
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import UsageError
from crawl.model.report import Report
from crawl.phases.rebucket.options import RebucketOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.tables.bucket_files import BucketTarget, crawldb_target, largest_first, split_file
from crawl.tables.hosts import hosts_target
from crawl.tables.runner import Runner


def check(present: Snapshot, buckets: int) -> None:
    """Raises UsageError where the buckets cannot become so many."""
    if buckets < present.buckets or buckets % present.buckets:
        raise UsageError(
            f"{buckets} buckets cannot be made of {present.buckets}: give a multiple,"
            f" such as {2 * present.buckets} or {4 * present.buckets}"
        )


def settle(crawl_dir: CrawlDir, config: Config, options: RebucketOptions, clock: Clock) -> Snapshot:
    """Takes the lock and gives it back, for a CrawlDb that has its buckets already: whoever made
    them may have been killed before it had copied its pointer and removed its lock."""
    with crawl_dir.writing_crawldb("rebucket", config, clock, steal_lock=options.steal_lock):
        return crawl_dir.require_crawldb()


@observed("rebucket")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: RebucketOptions, clock: Clock
) -> Snapshot:
    """Publishes a snapshot of the same records in so many buckets, unless there is one."""
    buckets = options.buckets
    report = Report("rebucket", clock.now_ms(), config.digest(), asdict(options))
    check(crawl_dir.require_crawldb(), buckets)
    with crawl_dir.writing_crawldb(
        "rebucket", config, clock, steal_lock=options.steal_lock
    ) as transaction:
        base = crawl_dir.require_crawldb()
        check(base, buckets)
        if base.buckets == buckets:
            return base  # somebody was quicker

        def split(target: BucketTarget, old: Sequence[BucketFile], step: str) -> list[BucketFile]:
            results = runner.run(partial(split_file, target, buckets), largest_first(old), step)
            return [file for files in results for file in files]

        with timed(report, "split", clock):
            target = crawldb_target(transaction.folder, transaction.place, config)
            files = split(target, base.files, "rebucket: split")
            target = hosts_target(transaction.folder, transaction.place)
            hosts = split(target, base.hosts, "rebucket: hosts")
        report.counters["records"] = sum(file.rows for file in files)
        report.finished_ms = clock.now_ms()
        return transaction.publish(
            files,
            report,
            buckets=buckets,
            keep=config[CRAWLDB_SNAPSHOTS_KEEP],
            hosts=sorted(hosts, key=lambda file: file.bucket),
        )
