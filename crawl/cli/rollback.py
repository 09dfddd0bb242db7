"""crawl rollback."""

from __future__ import annotations

import click

from crawl.cli.options import crawl_dir_argument, force_option, with_config
from crawl.cli.output import remark
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import NoSnapshot
from crawl.storage.crawl_dir import CrawlDir


@click.command("rollback")
@crawl_dir_argument
@click.option("--to", "number", type=int, help="The snapshot (default: the one before).")
@force_option
@with_config
def command(crawl_dir: str, number: int | None, force: bool, config: Config) -> None:
    """Make an older state of the CrawlDb of CRAWL_DIR the current one.

    Without --to that is the newest whole one before it. Nothing is deleted: `crawl snapshots`
    still lists the newer states, and rolling forward is the same command. Segments stay as
    they are.

    \b
    Examples:
      crawl rollback mycrawl
      crawl rollback mycrawl --to 7
    """
    directory = CrawlDir(crawl_dir)
    directory.require_timeline()
    with directory.writing_crawldb(
        "rollback", config, SystemClock(), force=force, damaged=True
    ) as transaction:
        if transaction.lock.took_over:
            remark(f"rollback: {transaction.lock.took_over}")
        if number is None:
            older = [
                each
                for each in transaction.timeline.numbers[:-1]
                if directory.crawldb.is_whole(each)
            ]
            if not older:
                raise NoSnapshot(f"{crawl_dir}: there is no snapshot before the current one")
            number = older[-1]
        snapshot = transaction.roll_back(number)
    remark(
        f"rollback: {crawl_dir}/crawldb is now snapshot {snapshot.number}"
        f" with {snapshot.rows:,} URLs"
    )
