"""crawl index."""

from __future__ import annotations

from urllib.parse import parse_qsl

import click

from crawl.cli.common.if_due import with_if_due
from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_segments,
    with_spark,
)
from crawl.cli.common.output import print_json, print_remarks, print_table, remark
from crawl.config import Config
from crawl.errors import UsageError
from crawl.facade.results import IndexingResult
from crawl.spark.runners import SparkOptions


@click.command("index")
@crawl_dir_argument
@with_segments
@click.option("--all", "every", is_flag=True, help="Index every segment that is parsed again.")
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="SNAPSHOT",
    help="Index the segments that the CrawlDb has taken in after this snapshot of it.",
)
@click.option(
    "--delete-gone",
    is_flag=True,
    help="Delete the documents of pages that are gone, redirected, orphans or duplicates.",
)
@click.option(
    "--no-crawldb", is_flag=True, help="Index what the segments have, without asking the CrawlDb."
)
@click.option("--filter", "filters", is_flag=True, help="Leave out URLs that filters reject today.")
@click.option(
    "--add-binary-content", is_flag=True, help="Documents have the page's bytes: binaryContent."
)
@click.option("--base64", "in_base64", is_flag=True, help="Binary content in Base64.")
@click.option("--params", default="", metavar="K=V&K=V", help="Parameters of all index writers.")
@click.option("--no-commit", is_flag=True, help="Leave it to the servers when to commit.")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Make the index anew, of all segments; what is there is replaced when it is done.",
)
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segments: tuple[str, ...],
    every: bool,
    since: int | None,
    delete_gone: bool,
    no_crawldb: bool,
    filters: bool,
    add_binary_content: bool,
    in_base64: bool,
    params: str,
    no_commit: bool,
    rebuild: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Make documents of pages and give them to the index writers that index.writers names.

    Of each URL the newest parse counts. Pages that are gone, redirected, duplicates, or that ask
    not to be indexed are left out. Without a SEGMENT: every one that is parsed and not indexed
    yet, also by one of the writers, and of older ones the pages that the CrawlDb no longer keeps
    out. Writers are told only what is new to them, and what they make is published at one moment:
    a job that dies changes nothing, and can be run again.

    \b
    Examples:
      crawl index mycrawl
      crawl index mycrawl --delete-gone -D index.writers=jsonl
      crawl index mycrawl --segments 20261115093000 --params 'path=/data/docs'
      crawl index mycrawl -D index.writers=opensearch --params 'url=http://search:9200&index=pages'
      crawl index mycrawl --since 12 --json
      crawl index mycrawl --rebuild -D indexingfilter.order=basic,anchor,more,language,links
    """
    given = read_params(params)
    with open_crawl(crawl_dir, config, spark, command="index") as web:
        done = web.index(
            segments,
            every=every,
            since=since,
            crawldb=not no_crawldb,
            delete_gone=True if delete_gone else None,
            filter=filters,
            binary_content=add_binary_content,
            base64=in_base64,
            params=given,
            commit=not no_commit,
            rebuild=rebuild,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json(
            {
                "snapshot": done.index_snapshot,
                "segments": done.segments,
                "documents": done.documents,
                "report": done.report,
            }
        )
    else:
        summarize(crawl_dir, done)
    return 0


def read_params(text: str) -> dict[str, str]:
    """The pairs of `--params`."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)))
    except ValueError:
        raise UsageError(f"--params {text!r}: expected KEY=VALUE&KEY=VALUE") from None


_REASONS = ("skipped.", "deleted.", "stale.", "plugin_errors.", "indexing_filters_dropped.")


def summarize(crawl_dir: str, done: IndexingResult) -> None:
    """What became of the pages, and of each writer's documents."""
    counters = done.counters
    reasons = [
        [name.replace("_", " "), count]
        for name, count in sorted(counters.items())
        if count and name.startswith(_REASONS)
    ]
    total = [["documents", counters["documents"]]]
    if counters["returned"]:
        total.append(["returned", counters["returned"]])
    print_table(done.phase, ["event", "pages"], [*total, *reasons])
    words = ["added", "updated", "unchanged", "older", "not_routed", "deleted"]
    rare = ("rejected", "cut", "version_conflicts", "retries")  # of servers
    words += [
        word for word in rare if any(counters[f"{writer}.{word}"] for writer in done.documents)
    ]
    rows = [
        [writer, *(counters[f"{writer}.{word}"] for word in words), count]
        for writer, count in done.documents.items()
    ]
    columns = ["writer", *(word.replace("_", " ") for word in words), "documents"]
    print_table("index writers", columns, rows, first=False)
    many = ", ".join(
        f"{writer} has {count:,} documents" for writer, count in done.documents.items()
    )
    remark(f"{done.phase}: {crawl_dir}/index is now snapshot {done.index_snapshot}: {many}")
