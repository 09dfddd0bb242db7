"""crawl rebucket."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, steal_lock_option, with_config, with_spark
from crawl.cli.common.output import remark
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("rebucket")
@crawl_dir_argument
@click.option(
    "--buckets",
    type=click.IntRange(min=1, max=65_536),
    metavar="N",
    required=True,
    help="How many; a multiple of the present number.",
)
@steal_lock_option
@with_spark
@with_config
def command(
    crawl_dir: str, buckets: int, steal_lock: bool, spark: SparkOptions, config: Config
) -> None:
    """Give the CrawlDb of CRAWL_DIR more buckets, when its files pass 256 MB or the cluster
    has more cores than the CrawlDb has buckets.

    \b
    Examples:
      crawl rebucket mycrawl --buckets 64
    """
    with open_crawl(crawl_dir, config, spark, command="rebucket") as web:
        done = web.rebucket(buckets, steal_lock=steal_lock)
    if done.remarks:
        remark(f"rebucket: {done.remarks[0]}: nothing to do")
        return
    remark(
        f"rebucket: {crawl_dir}/crawldb is now snapshot {done.snapshot}"
        f" with {done.db_urls:,} URLs in {done.counters['buckets']:,} buckets"
    )
