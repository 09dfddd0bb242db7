"""crawl webgraph."""

from __future__ import annotations

import click

from crawl.cli.common.if_due import with_if_due
from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_segments,
    with_spark,
)
from crawl.cli.common.output import is_answered, print_table, remark
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("webgraph")
@crawl_dir_argument
@with_segments
@click.option(
    "--filter", "filters", is_flag=True, help="Drop links that the URL filters reject today."
)
@click.option("--normalize", is_flag=True, help="Bring links into the form that is normal today.")
@click.option(
    "--again",
    is_flag=True,
    help="Take named segments in again, or whose parse is not whole.",
)
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segments: tuple[str, ...],
    filters: bool,
    normalize: bool,
    again: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Take the links of parsed segments into the link graph of CRAWL_DIR: pages that link or are
    linked to, and which to which. Of a page that was fetched several times, the newest counts.

    Without a SEGMENT: every one that is parsed and not in the graph yet. Which links count say
    the properties link.ignore.*; by default, where there is more than one domain, none within one,
    and of several to or from one the first. Scores of an older linkrank are gone with the graph
    that they belong to.

    \b
    Examples:
      crawl webgraph mycrawl
      crawl webgraph mycrawl 20261115093000 --filter --normalize
      crawl webgraph mycrawl -D link.ignore.internal.domain=false -D link.ignore.limit.domain=false
    """
    with open_crawl(crawl_dir, config, spark, command="webgraph") as web:
        done = web.webgraph(
            segments, filter=filters, normalize=normalize, again=again, steal_lock=steal_lock
        )
    if is_answered(done, as_json, segments=done.segments):
        return
    counters = done.counters
    rows = [
        [name.replace("dropped.", "dropped: ").replace("_", " "), count]
        for name, count in counters.items()
        if count
    ]
    print_table("webgraph", ["what", "count"], sorted(rows))
    some = "segment" if len(done.segments) == 1 else "segments"
    remark(
        f"webgraph: {crawl_dir}/webgraph is now snapshot {done.snapshot} with"
        f" {counters['nodes']:,} pages and {counters['edges']:,} links, from {len(done.segments)}"
        f" new {some}" + (f"; next: `crawl linkrank {crawl_dir}`" if counters["edges"] else "")
    )
