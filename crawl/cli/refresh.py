"""crawl refresh."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import is_answered, print_table, remark
from crawl.config import Config
from crawl.hints import command as command_line
from crawl.phases.refresh.rules import RefreshOutcome
from crawl.spark.runners import SparkOptions


@click.command("refresh")
@crawl_dir_argument
@click.argument("patterns", nargs=-1, required=True, metavar="HOST|URL|PATTERN...")
@click.option("--gone", is_flag=True, help="Pages that are gone, too.")
@click.option("--dry-run", is_flag=True, help="Count what would be made due, and do nothing.")
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    patterns: tuple[str, ...],
    gone: bool,
    dry_run: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Make URLs of CRAWL_DIR due now, so that the next round fetches them whatever their interval.

    A HOST means all its URLs, *.DOMAIN those of the domain and of all hosts below it, a URL that
    page alone. In a PATTERN * stands for any characters, and with no scheme it means every scheme.

    What is known of a page stays: a server may still answer that it did not change, and the page
    is not sent again. Hosts in backoff stay in it. URLs on a fetch list that is not finished are
    left alone, and so are pages that are gone, unless --gone is given.

    \b
    Examples:
      crawl refresh mycrawl example.org
      crawl refresh mycrawl '*.example.org' 'https://example.com/blog/*'
      crawl refresh mycrawl '*/sitemap.xml' --dry-run
      crawl refresh mycrawl '*' --gone
    """
    with open_crawl(crawl_dir, config, spark, command="refresh") as web:
        done = web.refresh(patterns, gone=gone, dry_run=dry_run, steal_lock=steal_lock)
    if is_answered(done, as_json):
        return
    counters = done.counters
    names = ("matched", *(outcome.value for outcome in RefreshOutcome))
    print_table(
        "refresh",
        ["what", "URLs"],
        [[name.replace("_", " "), counters[name]] for name in names],
    )
    made = counters[RefreshOutcome.MADE_DUE.value]
    if dry_run:
        remark(f"refresh: {made:,} URLs would be made due; nothing was changed")
        return
    due = made + counters[RefreshOutcome.ALREADY_DUE.value]
    where = f"{crawl_dir}/crawldb is {'now ' if made else 'still '}snapshot {done.snapshot}"
    follow = command_line("run", crawl_dir, "--until-empty")
    remark(f"refresh: {where}" + (f"; `{follow}` fetches what is due" if due else ""))
