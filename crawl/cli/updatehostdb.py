"""crawl updatehostdb."""

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
from crawl.spark.runners import SparkOptions


@click.command("updatehostdb")
@crawl_dir_argument
@with_segments
@click.option(
    "--rebuild",
    is_flag=True,
    help="Begin anew: count every segment that is there, and forget what others brought.",
)
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segments: tuple[str, ...],
    rebuild: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Count what each host of CRAWL_DIR is like, and keep it as its HostDb.

    Its URLs by status and its homepage, as the CrawlDb has them now; requests, failures, response
    times and sizes of all segments together; what is known of its robots.txt, its sitemaps and its
    name.

    Without a SEGMENT: every one that is fetched and not counted yet. A segment is counted once.
    `crawl readhostdb` shows it; generate uses it in `generate.max.count=auto`,
    `generate.max.count.expr` and `generate.fetch.delay.expr`.

    \b
    Examples:
      crawl updatehostdb mycrawl
      crawl updatehostdb mycrawl 20261115093000
      crawl updatehostdb mycrawl --rebuild -D hostdb.content.sizes=false
    """
    with open_crawl(crawl_dir, config, spark, command="updatehostdb") as web:
        done = web.updatehostdb(segments, rebuild=rebuild, steal_lock=steal_lock)
    print_remarks(done)
    if as_json:
        print_json({"snapshot": done.snapshot, "segments": done.segments, "report": done.report})
        return
    rows = [[name, done.counters[name]] for name in _SHOWN if done.counters[name]]
    print_table("updatehostdb", ["what", "count"], rows)
    some = "segment" if len(done.segments) == 1 else "segments"
    counted = f"{len(done.segments)} {some} counted"
    remark(
        f"updatehostdb: {crawl_dir}/hostdb is now snapshot {done.snapshot} with"
        f" {done.counters['hosts']:,} hosts; {counted}"
        + (f": {', '.join(done.segments)}" if done.segments else "")
    )


_SHOWN = (
    "hosts",
    "hosts_new",
    "hosts_without_urls",
    "hosts_forgotten",
    "urls",
    "requests",
    "bytes",
    "cache_files_unread",
)
