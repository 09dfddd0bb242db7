"""crawl rollback."""

from __future__ import annotations

import click

from crawl.cli.options import crawl_dir_argument, force_option, with_config
from crawl.cli.output import remark
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.snapshots import roll_back
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
    snapshot, took_over = roll_back(directory, config, SystemClock(), number, force=force)
    if took_over:
        remark(f"rollback: {took_over}")
    remark(
        f"rollback: {crawl_dir}/crawldb is now snapshot {snapshot.number}"
        f" with {snapshot.rows:,} URLs"
    )
