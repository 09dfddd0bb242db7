"""crawl inject."""

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
from crawl.facade.results import PhaseResult
from crawl.spark.runners import SparkOptions


@click.command("inject")
@crawl_dir_argument
@click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")
@click.option("--overwrite", is_flag=True, help="A seed replaces the record of a known URL.")
@click.option(
    "--update",
    is_flag=True,
    help="A seed's metadata, score and interval are put into the record of a known URL.",
)
@click.option("--no-filter", is_flag=True, help="Take seeds that the URL filters reject.")
@click.option("--no-normalize", is_flag=True, help="Take seeds as they are written.")
@click.option(
    "--filter-normalize-all",
    is_flag=True,
    help="Normalise and filter the URLs already in the CrawlDb too.",
)
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    seeds: tuple[str, ...],
    overwrite: bool,
    update: bool,
    no_filter: bool,
    no_normalize: bool,
    filter_normalize_all: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Put seed URLs into the CrawlDb of CRAWL_DIR, making it if need be.

    SEEDS are text files (plain or gzip) or folders of them: a URL a line, optionally
    followed by TAB-separated key=value pairs. `nutch.score`, `nutch.fetchInterval` and
    `nutch.fetchInterval.fixed` are understood, other keys become metadata; lines that
    start with # are comments. A line that is no URL is counted, never fatal; where no line
    at all can be used, nothing is written and the exit code is 1 (unless
    --filter-normalize-all gives it other work).

    \b
    Examples:
      crawl inject mycrawl seeds.txt
      crawl inject mycrawl seeds/ more.txt.gz --update
      crawl inject s3://bucket/crawl seeds.txt --master yarn -D crawldb.buckets=256
    """
    with open_crawl(crawl_dir, config, spark, command="inject") as web:
        done = web.inject(
            files=seeds,
            overwrite=overwrite,
            update=update,
            filter=not no_filter,
            normalize=not no_normalize,
            filter_normalize_all=filter_normalize_all,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json({"snapshot": done.snapshot, "report": done.report})
    else:
        _summarize(crawl_dir, done)


def _summarize(crawl_dir: str, done: PhaseResult) -> None:
    counters = done.counters
    rows: list[list[object]] = [
        ["seed lines", counters["seed_lines"], ""],
        ["new URLs", counters["urls_new"], ""],
        ["known URLs", counters["urls_merged"], ""],
    ]
    for reason, count in sorted(counters.items()):
        if reason in _SHOWN or not reason.startswith(_REASONS) or not count:
            continue
        samples = done.report["samples"].get(reason, [])
        rows.append([reason, count, samples[0] if samples else ""])
    print_table("inject", ["what", "URLs", "example"], rows)
    remark(
        f"inject: {crawl_dir}/crawldb is now snapshot {done.snapshot} with {done.db_urls:,} URLs"
    )


_SHOWN = ("seed_lines", "urls_new", "urls_merged")
_REASONS = (
    "malformed.",
    "metadata_ignored",
    "plugin_errors.",
    "seed_folders_skipped",
    "urls_filtered",
    "urls_moved",
    "urls_purged",
    "urls_repeated_in_seeds",
)
