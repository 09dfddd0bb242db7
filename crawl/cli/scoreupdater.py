"""crawl scoreupdater."""

from __future__ import annotations

import click

from crawl.cli.common.if_due import with_if_due
from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import is_answered, remark
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("scoreupdater")
@crawl_dir_argument
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str, steal_lock: bool, as_json: bool, spark: SparkOptions, config: Config
) -> None:
    """Make the scores of the link graph of CRAWL_DIR those of its CrawlDb. URLs that the graph
    does not know get link.score.updater.clear.score.

    \b
    Examples:
      crawl scoreupdater mycrawl
      crawl scoreupdater mycrawl -D link.score.updater.clear.score=0.1
    """
    with open_crawl(crawl_dir, config, spark, command="scoreupdater") as web:
        done = web.scoreupdater(steal_lock=steal_lock)
    if is_answered(done, as_json):
        return
    counters = done.counters
    remark(
        f"scoreupdater: {crawl_dir}/crawldb is now snapshot {done.snapshot} with"
        f" {counters['urls_scored']:,} URLs scored by links, {counters['urls_cleared']:,} not in"
        f" the link graph; {counters['nodes_unknown']:,} of its pages are not in the CrawlDb"
    )
