"""crawl mirrors."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import print_json, print_table, remark
from crawl.cli.common.picture_option import snapshot_option
from crawl.config import Config
from crawl.spark.runners import SparkOptions

NOTHING_FOUND = 1


@click.command("mirrors")
@crawl_dir_argument
@click.option(
    "--min-contents",
    type=click.IntRange(min=2),
    metavar="N",
    default=10,
    show_default=True,
    help="Different contents that both must have under the same paths.",
)
@click.option(
    "--min-agreement",
    type=click.FloatRange(0.5, 1, min_open=True),
    metavar="SHARE",
    default=0.95,
    show_default=True,
    help="Share of their common paths that must have the same content.",
)
@click.option(
    "--hosts-file", metavar="FILE", help="Write rules for the urlnormalizer host to a file."
)
@click.option(
    "--protocols-file",
    metavar="FILE",
    help="Write rules for the urlnormalizer protocol to a file, for http and https of a host.",
)
@snapshot_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    min_contents: int,
    min_agreement: float,
    hosts_file: str | None,
    protocols_file: str | None,
    snapshot: int | None,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Find sites of CRAWL_DIR that are copies of others: with and without `www.`, http and https,
    whole copies on other hosts. Exit code 1 where there are none.

    \b
    Examples:
      crawl mirrors mycrawl
      crawl mirrors mycrawl --min-contents 50 --json
      crawl mirrors mycrawl --hosts-file conf/host-urlnormalizer.txt
      crawl mirrors mycrawl --protocols-file conf/protocols.txt
    """
    with open_crawl(crawl_dir, config, spark, command="mirrors") as web:
        found = web.mirrors(
            min_contents=min_contents,
            min_agreement=min_agreement,
            hosts_file=hosts_file,
            protocols_file=protocols_file,
            snapshot=snapshot,
        )
    if as_json:
        print_json(found)
    else:
        columns = ["mirror", "of", "kind", "pages", "of's pages", "common", "agreeing", "contents"]
        rows = [list(each.values())[: len(columns)] for each in found["mirrors"]]
        print_table("mirrors", columns, rows)
        remark(f"mirrors: {len(rows):,} among {found['pages']:,} pages")
        for path, key in ((hosts_file, "hosts"), (protocols_file, "protocols")):
            if path is not None:
                remark(f"mirrors: {found[key]:,} rules in {path}")
    return 0 if found["mirrors"] else NOTHING_FOUND
