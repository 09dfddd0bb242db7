"""crawl mergelinkdb."""

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
from crawl.cli.common.output import print_json, print_remarks, print_table, remark
from crawl.config import Config
from crawl.operations.shown import counter_rows
from crawl.spark.runners import SparkOptions


@click.command("mergelinkdb")
@crawl_dir_argument
@click.argument("others", nargs=-1, required=True, metavar="OTHER_CRAWL_DIR...")
@click.option(
    "--normalize", is_flag=True, help="Bring the URLs of the others into the form normal today."
)
@click.option(
    "--filter", "filters", is_flag=True, help="Leave out links whose URLs the filters reject."
)
@click.option(
    "--rebucket", is_flag=True, help="Also merge LinkDbs that have another number of buckets."
)
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    others: tuple[str, ...],
    normalize: bool,
    filters: bool,
    rebucket: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Merge the LinkDbs of other crawls into that of CRAWL_DIR, making it if need be. The
    others stay as they are.

    Links are chosen as by invertlinks, so that it does not matter in which order LinkDbs are
    merged, or how often.

    \b
    Examples:
      crawl mergelinkdb mycrawl crawl-2025 crawl-2026
      crawl mergelinkdb all-links mycrawl crawl-2025 --filter --normalize
      crawl mergelinkdb mycrawl s3://bucket/crawl --rebucket
    """
    with open_crawl(crawl_dir, config, spark, command="mergelinkdb") as web:
        done = web.mergelinkdb(
            others, normalize=normalize, filter=filters, rebucket=rebucket, steal_lock=steal_lock
        )
    print_remarks(done)
    if as_json:
        print_json({"snapshot": done.snapshot, "report": done.report})
        return
    shown = {name: count for name, count in done.counters.items() if name != "links_sent"}
    print_table("mergelinkdb", ["what", "count"], counter_rows(shown, ("links", "dropped.")))
    remark(
        f"mergelinkdb: {crawl_dir}/linkdb is now snapshot {done.snapshot} with"
        f" {done.counters['links_kept']:,} links"
    )
