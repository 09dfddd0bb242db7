"""crawl dust."""

from __future__ import annotations

from typing import Any

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import print_json, print_table, remark
from crawl.cli.common.picture_option import snapshot_option
from crawl.config import Config
from crawl.spark.runners import SparkOptions

NOTHING_FOUND = 1


@click.command("dust")
@crawl_dir_argument
@click.option("--host", "hosts", multiple=True, help="Only this host (repeatable).")
@click.option(
    "--min-support",
    type=click.IntRange(min=2),
    metavar="N",
    default=10,
    show_default=True,
    help="Different contents that must have stayed the same.",
)
@click.option(
    "--min-values",
    type=click.IntRange(min=2),
    metavar="N",
    default=3,
    show_default=True,
    help="Values of a parameter, its absence included, that must have been seen.",
)
@click.option(
    "--max-exceptions",
    type=click.FloatRange(0, 0.5, max_open=True),
    metavar="SHARE",
    default=0.01,
    show_default=True,
    help="Share of the URLs whose content may be another.",
)
@click.option(
    "--apply",
    metavar="FILE",
    help="Write the rules to a file for the urlnormalizer dust; those of an earlier --apply stay"
    " in it unless exceptions have turned up.",
)
@click.option("--doubtful", is_flag=True, help="Also list what has support, but not enough.")
@snapshot_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    hosts: tuple[str, ...],
    min_support: int,
    min_values: int,
    max_exceptions: float,
    apply: str | None,
    doubtful: bool,
    snapshot: int | None,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Find what makes no difference in the URLs of CRAWL_DIR, by host: parameters of the query or
    the path (session ids, campaign tags), index.html, slashes at the end, upper and lower case.

    A rule is learnt where URLs that differ in nothing else had the same content, often enough
    and without exceptions. Contents that many pages of a host share count for nothing. Exit
    code 1 where nothing is found.

    \b
    Examples:
      crawl dust mycrawl
      crawl dust mycrawl --host www.example.org --min-support 5 --doubtful
      crawl dust mycrawl --apply conf/dust-urlnormalizer.txt
      crawl run mycrawl -D urlnormalizer.order=basic,regex,dust
    """
    with open_crawl(crawl_dir, config, spark, command="dust") as web:
        found = web.dust(
            hosts=hosts,
            min_support=min_support,
            min_values=min_values,
            max_exceptions=max_exceptions,
            apply=apply,
            snapshot=snapshot,
        )
    if as_json:
        print_json(found)
    else:
        _show("rules", found["rules"])
        if doubtful:
            _show("doubtful", found["doubtful"], first=False)
        rules, sites = len(found["rules"]), len({each["host"] for each in found["rules"]})
        remark(f"dust: {rules:,} rules for {sites:,} hosts, from {found['pages']:,} pages")
        if apply is not None:
            remark(
                f"dust: {found['written']:,} rules in {apply}; they take effect with"
                " urlnormalizer.order=basic,regex,dust, and with"
                f" `crawl updatedb {crawl_dir} --normalize` for URLs that are known"
            )
    return 0 if found["rules"] else NOTHING_FOUND


def _show(title: str, rules: list[dict[str, Any]], *, first: bool = True) -> None:
    columns = ["host", "kind", "name", "contents", "values", "URLs", "exceptions"]
    rows = [list(each.values()) for each in rules]
    print_table(title, columns, rows, first=first)
