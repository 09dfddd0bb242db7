"""crawl clean."""

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
from crawl.cli.common.output import print_json, print_remarks
from crawl.cli.index import read_params, summarize
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("clean")
@crawl_dir_argument
@click.option("--params", default="", metavar="K=V&K=V", help="Parameters of all index writers.")
@click.option("--no-commit", is_flag=True, help="Leave it to the servers when to commit.")
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    params: str,
    no_commit: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Delete stale documents from every index writer: those of pages that the CrawlDb of
    CRAWL_DIR has as gone, redirected, duplicates or orphans, and of URLs that it no longer has.

    Run it after `crawl dedup` or when pages were purged; no segment is needed.

    \b
    Examples:
      crawl clean mycrawl
      crawl clean mycrawl --json -D index.writers=jsonl,tantivy
    """
    given = read_params(params)
    with open_crawl(crawl_dir, config, spark, command="clean") as web:
        done = web.clean(params=given, commit=not no_commit, steal_lock=steal_lock)
    print_remarks(done)
    if as_json:
        values = {"snapshot": done.index_snapshot, "documents": done.documents}
        print_json({**values, "report": done.report})
    else:
        summarize(crawl_dir, done)
    return 0
