"""crawl linkrank."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    force_option,
    json_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import print_json, print_remarks, remark
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("linkrank")
@crawl_dir_argument
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help="How often scores are handed on (default: link.analyze.num.iterations).",
)
@force_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    iterations: int | None,
    force: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Rank the pages of the link graph of CRAWL_DIR by the pages that link to them. The scores
    become those of the CrawlDb by `crawl scoreupdater`.

    \b
    Examples:
      crawl linkrank mycrawl
      crawl linkrank mycrawl --iterations 20 -D link.analyze.damping.factor=0.9
    """
    with open_crawl(crawl_dir, config, spark, command="linkrank") as web:
        done = web.linkrank(iterations=iterations, force=force)
    print_remarks(done)
    if as_json:
        print_json({"snapshot": done.snapshot, "report": done.report})
        return
    counters = done.counters
    remark(
        f"linkrank: {crawl_dir}/webgraph is now snapshot {done.snapshot} with scores of"
        f" {counters['nodes']:,} pages by {counters['edges']:,} links, after"
        f" {counters['iterations']} iterations in {done.seconds['iterations']:.1f} s"
    )
