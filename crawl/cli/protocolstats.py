"""crawl protocolstats."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import print_json, print_table
from crawl.cli.common.picture_option import plot_option, snapshot_option, tell_picture
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("protocolstats")
@crawl_dir_argument
@plot_option
@snapshot_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    plot: str | None,
    snapshot: int | None,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Count the URLs of CRAWL_DIR by the HTTP code of their last answer; UNFETCHED are those
    that never gave one.

    \b
    Examples:
      crawl protocolstats mycrawl
      crawl protocolstats mycrawl --json
      crawl protocolstats mycrawl --plot codes.svg
    """
    with open_crawl(crawl_dir, config, spark, command="protocolstats") as web:
        found = web.protocolstats(plot=plot, snapshot=snapshot)
    if as_json:
        print_json(found)
        return 0
    rows: list[list[object]] = []
    for code, urls in sorted(found["codes"].items(), key=lambda each: (-each[1], each[0])):
        statuses = sorted(found["statuses"][code].items(), key=lambda each: -each[1])
        told = ", ".join(f"{label.removeprefix('db_')} {count:,}" for label, count in statuses)
        rows.append([code, urls, f"{urls / found['urls']:.1%}", told])
    print_table("answers", ["code", "URLs", "share", "statuses"], rows)
    tell_picture("protocolstats", plot)
    return 0
