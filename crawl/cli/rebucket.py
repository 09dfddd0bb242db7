"""crawl rebucket."""

from __future__ import annotations

import click

from crawl.cli.options import crawl_dir_argument, force_option, with_config, with_spark
from crawl.cli.output import remark
from crawl.cli.unlocked import require_unlocked
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases import rebucket
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir


@click.command("rebucket")
@crawl_dir_argument
@click.option(
    "--buckets",
    type=click.IntRange(min=1, max=65_536),
    metavar="N",
    required=True,
    help="How many; a multiple of the present number.",
)
@force_option
@with_spark
@with_config
def command(crawl_dir: str, buckets: int, force: bool, spark: SparkOptions, config: Config) -> None:
    """Give the CrawlDb of CRAWL_DIR more buckets, when its files pass 256 MB or the cluster
    has more cores than the CrawlDb has buckets.

    \b
    Examples:
      crawl rebucket mycrawl --buckets 64
    """
    directory = CrawlDir(crawl_dir)
    rebucket.check(directory.require_crawldb(), buckets)
    require_unlocked(directory.crawldb.folder, config, force=force)
    with spark.runner("rebucket", config) as runner:
        snapshot = rebucket.run(runner, directory, config, buckets, SystemClock(), force=force)
    remark(
        f"rebucket: {crawl_dir}/crawldb is now snapshot {snapshot.number}"
        f" with {snapshot.rows:,} URLs in {snapshot.buckets:,} buckets"
    )
