"""gc: old snapshots are forgotten, and the files that none names are deleted."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_SNAPSHOTS_KEEP
from crawl.phases.index.tasks.settle import settle_index
from crawl.storage.crawl_dir import CrawlDir


@dataclass(frozen=True, slots=True)
class GarbageResult:
    """What a garbage collection did."""

    forgotten: tuple[int, ...]
    kept: tuple[int, ...]
    """The numbers of the snapshots, the current one last."""
    files_deleted: int
    took_over: str | None


def collect_garbage(
    crawl_dir: CrawlDir, config: Config, clock: Clock, keep: int | None, *, steal_lock: bool
) -> GarbageResult:
    """Keeps the newest snapshots of the CrawlDb and of every other dataset, as many as asked
    for or configured, and deletes the files that none of them names, and what killed writers left
    unfinished anywhere in the crawl."""
    crawl_dir.require_crawldb()
    newest = config[CRAWLDB_SNAPSHOTS_KEEP] if keep is None else keep
    with crawl_dir.writing_crawldb("gc", config, clock, steal_lock=steal_lock) as transaction:
        forgotten = transaction.keep_newest(newest)
        numbers = transaction.timeline.numbers
    swept = transaction.swept
    for dataset in crawl_dir.datasets()[1:]:
        with crawl_dir.writing(dataset, "gc", config, clock, steal_lock=steal_lock) as other:
            other.keep_newest(newest)
        swept += other.swept
    swept += settle_index(crawl_dir, "gc", config, clock, steal_lock=steal_lock).deleted
    if crawl_dir.folder.is_local():  # elsewhere a living writer's cannot be told from a dead one's
        swept += crawl_dir.folder.drop_uploads()
    return GarbageResult(forgotten, numbers, swept, transaction.lock.took_over)
