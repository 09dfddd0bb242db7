"""crawl domainstats."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import print_json, print_table
from crawl.cli.common.picture_option import (
    plot_option,
    snapshot_option,
    tell_picture,
    top_option,
)
from crawl.config import Config
from crawl.spark.runners import SparkOptions


@click.command("domainstats")
@crawl_dir_argument
@click.option(
    "--by",
    type=click.Choice(["host", "domain", "suffix", "tld"]),
    default="host",
    show_default=True,
    help="What is counted.",
)
@top_option(50, "names")
@plot_option
@snapshot_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    by: str,
    top: int,
    plot: str | None,
    snapshot: int | None,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Count the fetched pages of CRAWL_DIR by host, registered domain, public suffix or TLD.

    \b
    Examples:
      crawl domainstats mycrawl
      crawl domainstats mycrawl --by tld --json
      crawl domainstats mycrawl --by domain --top 100 --plot domains.svg
    """
    with open_crawl(crawl_dir, config, spark, command="domainstats") as web:
        found = web.domainstats(by, top=top, plot=plot, snapshot=snapshot)
    if as_json:
        print_json(found)
        return 0
    rows: list[list[object]] = [
        [f"{by}s", found["names"]],
        [f"{by}s with pages", found["names_fetched"]],
        ["FETCHED", found["fetched"]],
        ["NOT_FETCHED", found["not_fetched"]],
    ]
    print_table("all", ["what", "count"], rows)
    if found["top"]:
        print_table(
            f"largest {by}s",
            [by, "fetched", "URLs"],
            [list(each.values()) for each in found["top"]],
            first=False,
        )
    tell_picture("domainstats", plot)
    return 0
