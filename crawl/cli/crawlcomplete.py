"""crawl crawlcomplete."""

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


@click.command("crawlcomplete")
@crawl_dir_argument
@click.option(
    "--by",
    type=click.Choice(["host", "domain"]),
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
    """Tell how much of each host or domain of CRAWL_DIR is fetched. As in Nutch, what is not
    db_fetched or db_notmodified counts as unfetched.

    \b
    Examples:
      crawl crawlcomplete mycrawl
      crawl crawlcomplete mycrawl --by domain --json
      crawl crawlcomplete mycrawl --top 20 --plot complete.svg
    """
    with open_crawl(crawl_dir, config, spark, command="crawlcomplete") as web:
        found = web.crawlcomplete(by, top=top, plot=plot, snapshot=snapshot)
    if as_json:
        print_json(found)
        return 0
    rows: list[list[object]] = [
        [f"{by}s", found["names"]],
        [f"{by}s with pages", found["begun"]],
        [f"{by}s all of whose URLs are fetched", found["complete"]],
        ["FETCHED", found["fetched"]],
        ["UNFETCHED", found["unfetched"]],
    ]
    print_table("all", ["what", "count"], rows)
    if found["top"]:
        print_table(
            f"largest {by}s",
            [by, "fetched", "unfetched", "share"],
            [
                [each["name"], each["fetched"], each["unfetched"], f"{each['share']:.1%}"]
                for each in found["top"]
            ],
            first=False,
        )
    tell_picture("crawlcomplete", plot)
    return 0
