"""The LinkDb as a dataset of a crawl: what its writers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.errors import NoSnapshot
from crawl.hints import command
from crawl.model.derived_tables import LINKDB
from crawl.model.report import Report
from crawl.phases.invertlinks.settings import LINKDB_MAX_INLINKS
from crawl.phases.invertlinks.tasks.merge import MergeLinksJob, merge_links
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Dataset, Transaction
from crawl.tables.bucket_files import BucketTarget, crawldb_target, largest_first
from crawl.tables.exchange import Exchange
from crawl.tables.slices import Slices

Result = TypeVar("Result")


def linkdb_of(crawl_dir: CrawlDir) -> Dataset:
    """The dataset in its folder, made or not."""
    return crawl_dir.dataset(LINKDB)


def require_linkdb(crawl_dir: CrawlDir) -> Snapshot:
    """The LinkDb's current state, or one line saying how to get one."""
    snapshot = linkdb_of(crawl_dir).current()
    if snapshot is None:
        raise NoSnapshot(
            f"{crawl_dir.address} has no LinkDb yet: make it with"
            f" `{command('invertlinks', crawl_dir.address)}`"
        )
    return snapshot


def reading_linkdb(
    crawl_dir: CrawlDir,
    read: Callable[[Snapshot], Result],
    begin_anew: Callable[[], object] = lambda: None,
) -> Result:
    """What `read` makes of the LinkDb's current state (see `Dataset.reading`)."""
    return linkdb_of(crawl_dir).reading(partial(require_linkdb, crawl_dir), read, begin_anew)


def buckets_wanted(crawl_dir: CrawlDir, config: Config, base: Snapshot | None) -> int:
    """The CrawlDb's number of buckets, so that both can be read side by side; the LinkDb's own
    where that cannot become so many."""
    crawldb = crawl_dir.crawldb.current()
    buckets = crawldb.buckets if crawldb else config[CRAWLDB_BUCKETS]
    if base is None or (crawldb is not None and buckets % base.buckets == 0):
        return buckets
    return base.buckets


def target_of(transaction: Transaction, config: Config) -> BucketTarget:
    """Where new files of the LinkDb go, which are as large as those of the CrawlDb."""
    return replace(crawldb_target(transaction.folder, transaction.place, config), table=LINKDB)


def merge_sent(
    sent: Exchange[Any],
    slices: Slices,
    target: BucketTarget,
    config: Config,
    report: Report,
    forgotten: Iterable[str] = (),
    *,
    without_internal: bool = False,
) -> list[BucketFile]:
    """The files of the LinkDb to publish, after tasks have sent new links to their slices;
    slices to which nothing happens keep their files."""
    job = MergeLinksJob(target, config[LINKDB_MAX_INLINKS], frozenset(forgotten), without_internal)
    numbers = set(np.flatnonzero(sent.row_counts()).tolist())
    if job.forgotten or job.without_internal:
        numbers.update(each.number for each in slices.stored())
    tasks = largest_first(slices.all[number] for number in sorted(numbers))
    addressed = [(task.number, task) for task in tasks]
    results = sent.run(partial(merge_links, job), addressed, f"{report.phase}: merge")
    for counters in sent.results():
        report.counters += counters
    for result in results:
        report.counters += result.counters
    files = slices.files_after(
        {task.number: result.files for task, result in zip(tasks, results, strict=True)}
    )
    report.counters["links_kept"] = sum(file.rows for file in files)
    return files
