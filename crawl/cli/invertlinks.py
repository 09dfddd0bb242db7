"""crawl invertlinks."""

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
from crawl.cli.common.output import print_json, print_remarks, print_table, remark
from crawl.config import Config
from crawl.operations.shown import counter_rows
from crawl.spark.runners import SparkOptions


@click.command("invertlinks")
@crawl_dir_argument
@with_segments
@click.option("--no-normalize", is_flag=True, help="Take the URLs of both pages as they are.")
@click.option("--no-filter", is_flag=True, help="Take links that the URL filters reject.")
@click.option(
    "--again",
    is_flag=True,
    help="Invert named segments again, in place of what they brought before, or whose parse is"
    " not whole.",
)
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segments: tuple[str, ...],
    no_normalize: bool,
    no_filter: bool,
    again: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Merge the links of parsed segments into the LinkDb of CRAWL_DIR, turned around: for each
    URL the pages that link to it, with the texts of their links.

    Without a SEGMENT: every one that is parsed and not in the LinkDb yet. A segment is inverted
    once, and the order does not matter. Links within a host are left out where there
    are several (linkdb.ignore.internal.links: auto, true or false). Of more than
    linkdb.max.inlinks links to a URL those of the pages with the highest scores are kept.

    \b
    Examples:
      crawl invertlinks mycrawl
      crawl invertlinks mycrawl 20261115093000 --no-normalize --no-filter
      crawl invertlinks mycrawl --segments 20261115093000 --again
      crawl invertlinks mycrawl -D linkdb.ignore.internal.links=false
    """
    with open_crawl(crawl_dir, config, spark, command="invertlinks") as web:
        done = web.invertlinks(
            segments,
            normalize=not no_normalize,
            filter=not no_filter,
            again=again,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json({"snapshot": done.snapshot, "segments": done.segments, "report": done.report})
        return
    shown = {name: count for name, count in done.counters.items() if name != "links_sent"}
    families = ("pages", "links", "dropped.")
    print_table("invertlinks", ["what", "count"], counter_rows(shown, families))
    some = "segment" if len(done.segments) == 1 else "segments"
    remark(
        f"invertlinks: {crawl_dir}/linkdb is now snapshot {done.snapshot} with"
        f" {done.counters['links_kept']:,} links, from {len(done.segments)} {some}:"
        f" {', '.join(done.segments)}"
    )
