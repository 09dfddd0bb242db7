"""crawl linkrank."""

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


@click.command("linkrank")
@crawl_dir_argument
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help="How often scores are handed on (default: link.analyze.num.iterations); with --pagerank:"
    " at most (default: 100).",
)
@click.option(
    "--pagerank",
    is_flag=True,
    help="PageRank, until it converges: all links count, and pages without links hand their rank"
    " to all. Scores add up to 1.",
)
@click.option(
    "--tolerance",
    type=float,
    metavar="X",
    help="With --pagerank: converged when the ranks change by less in all.  [default: 1e-06]",
)
@click.option(
    "--by-domain",
    is_flag=True,
    help="With --pagerank: ranks for the order of a crawl. The surfer begins anew where the pages"
    " of a domain rank high, so that spam which links to itself gains little; the damping is"
    " link.analyze.domain.damping.factor.",
)
@click.option(
    "--seeds",
    metavar="FILE",
    help="With --pagerank: personalised; the surfer begins anew at the pages of these URLs, hosts"
    " or domains, one a line.",
)
@click.option(
    "--deny",
    metavar="FILE",
    help="With --pagerank: spam, as URLs, hosts or domains, one a line. These pages, and those"
    " that link to little else, hand nothing on.",
)
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    iterations: int | None,
    pagerank: bool,
    tolerance: float | None,
    by_domain: bool,
    seeds: str | None,
    deny: str | None,
    steal_lock: bool,
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
      crawl linkrank mycrawl --pagerank --tolerance 1e-8
      crawl linkrank mycrawl --pagerank --by-domain
      crawl linkrank mycrawl --pagerank --seeds trusted.txt --deny spam.txt
    """
    with open_crawl(crawl_dir, config, spark, command="linkrank") as web:
        done = web.linkrank(
            iterations=iterations,
            pagerank=pagerank,
            tolerance=tolerance,
            by_domain=by_domain,
            seeds=seeds,
            deny=deny,
            steal_lock=steal_lock,
        )
    if is_answered(done, as_json):
        return
    counters = done.counters
    remark(
        f"linkrank: {crawl_dir}/webgraph is now snapshot {done.snapshot} with scores of"
        f" {counters['nodes']:,} pages by {counters['edges']:,} links, after"
        f" {counters['iterations']} iterations in {done.seconds['iterations']:.1f} s"
    )
