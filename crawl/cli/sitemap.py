"""crawl sitemap."""

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
from crawl.cli.common.url_lines import decoded_argument
from crawl.config import Config
from crawl.facade.results import PhaseResult
from crawl.phases.sitemap.rules import REASONS
from crawl.spark.runners import SparkOptions


@click.command("sitemap")
@crawl_dir_argument
@click.option(
    "--url",
    "urls",
    multiple=True,
    metavar="URL",
    help="A sitemap, or the front page of a site whose sitemaps are wanted. May be repeated.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="FILE",
    help="A file, or a folder of files, of such URLs, one a line. May be repeated.",
)
@click.option(
    "--hosts/--no-hosts",
    default=None,
    help="Ask the hosts of the CrawlDb.  [default: unless URLs are given]",
)
@click.option(
    "--max-hosts",
    type=click.IntRange(-1),
    help="How many of them, those with the most URLs first; -1: all.  [default: sitemap.max.hosts]",
)
@click.option(
    "--num-fetchers",
    type=click.IntRange(1),
    help="Tasks that ask at the same time, each other servers.  [default: the cores]",
)
@click.option("--no-filter", is_flag=True, help="Take URLs that the URL filters reject.")
@click.option("--no-normalize", is_flag=True, help="Take URLs as they are written.")
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    urls: tuple[str, ...],
    files: tuple[str, ...],
    hosts: bool | None,
    max_hosts: int | None,
    num_fetchers: int | None,
    no_filter: bool,
    no_normalize: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Put the URLs that sites list in their sitemaps into the CrawlDb of CRAWL_DIR.

    Each host is asked for the sitemaps that its robots.txt names, or for /sitemap.xml where
    it names none: politely, and as its robots.txt allows. XML, indexes, RSS, Atom and lists of
    URLs are read, packed or not. A URL is taken from a sitemap in the same folder of its host or
    above, or from one that its host's robots.txt names (sitemap.strict.parsing).

    New URLs are due at once, with the priority as score and the changefreq as interval. Known
    ones whose lastmod is later than their last fetch are due again. What is dropped is counted;
    where nothing is left, nothing is written and the exit code is 1.

    \b
    Examples:
      crawl sitemap mycrawl -D http.agent.name=mybot
      crawl sitemap mycrawl --url https://example.org/sitemap_index.xml
      crawl sitemap mycrawl --url https://example.org/ --hosts --max-hosts 100
      crawl sitemap s3://bucket/crawl --master yarn -D sitemap.max.hosts=-1
    """
    with open_crawl(crawl_dir, config, spark, command="sitemap") as web:
        done = web.sitemap(
            [decoded_argument(url) for url in urls],
            files=files,
            hosts=hosts,
            max_hosts=max_hosts,
            num_fetchers=num_fetchers,
            filter=not no_filter,
            normalize=not no_normalize,
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
        ["hosts asked", counters["hosts_asked"], ""],
        ["sitemaps read", counters["sitemaps_read"], ""],
        ["URLs listed", counters["urls_listed"], ""],
        ["new URLs", counters["urls_new"], ""],
        ["known URLs", counters["urls_known"], ""],
        ["due earlier", counters["urls_due_earlier"], ""],
        ["listed again", counters["urls_repeated"], ""],
    ]
    for reason, count in sorted(counters.items()):
        if not reason.startswith(REASONS) or not count:
            continue
        samples = done.report["samples"].get(reason, [])
        rows.append([reason, count, samples[0] if samples else ""])
    print_table("sitemap", ["what", "count", "example"], rows)
    remark(
        f"sitemap: {crawl_dir}/crawldb is now snapshot {done.snapshot} with {done.db_urls:,} URLs"
    )
