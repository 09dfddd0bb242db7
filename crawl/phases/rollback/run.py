"""rollback: an older snapshot of the CrawlDb is the current one again."""

from __future__ import annotations

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import NoSnapshot
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot


def roll_back(
    crawl_dir: CrawlDir, config: Config, clock: Clock, number: int | None, *, steal_lock: bool
) -> tuple[Snapshot, str | None]:
    """Makes that snapshot the current one, or the newest whole one before; and what is to be
    said of the lock."""
    crawl_dir.require_timeline()
    with crawl_dir.writing_crawldb(
        "rollback", config, clock, steal_lock=steal_lock, damaged=True
    ) as transaction:
        if number is None:
            older = [
                each
                for each in transaction.timeline.numbers[:-1]
                if crawl_dir.crawldb.is_whole(each)
            ]
            if not older:
                raise NoSnapshot(
                    f"{crawl_dir.address}: there is no snapshot before the current one"
                )
            number = older[-1]
        return transaction.roll_back(number), transaction.lock.took_over
