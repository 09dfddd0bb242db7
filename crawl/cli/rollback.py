"""crawl rollback."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, steal_lock_option, with_config
from crawl.cli.common.output import print_remarks, remark
from crawl.config import Config


@click.command("rollback")
@crawl_dir_argument
@click.option("--to", "number", type=int, help="The snapshot (default: the one before).")
@steal_lock_option
@with_config
def command(crawl_dir: str, number: int | None, steal_lock: bool, config: Config) -> None:
    """Make an older state of the CrawlDb of CRAWL_DIR the current one.

    Without --to that is the newest whole one before it. Nothing is deleted: `crawl snapshots`
    still lists the newer states, and rolling forward is the same command. Segments stay as
    they are.

    \b
    Examples:
      crawl rollback mycrawl
      crawl rollback mycrawl --to 7
    """
    with open_crawl(crawl_dir, config, command="rollback") as web:
        done = web.rollback(number, steal_lock=steal_lock)
    print_remarks(done)
    remark(
        f"rollback: {crawl_dir}/crawldb is now snapshot {done.snapshot} with {done.db_urls:,} URLs"
    )
