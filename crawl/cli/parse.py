"""crawl parse."""

from __future__ import annotations

import click

from crawl.cli.common.if_due import find_due_work, if_due_option
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
from crawl.operations.shown import counter_rows
from crawl.spark.runners import SparkOptions


@click.command("parse")
@crawl_dir_argument
@click.argument("segment", required=False)
@click.option("--reparse", is_flag=True, help="Parse a segment again and replace its parse.")
@click.option("--no-filter", is_flag=True, help="Keep links that the URL filters reject.")
@click.option("--no-normalize", is_flag=True, help="Leave links as the pages have them.")
@if_due_option
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segment: str | None,
    reparse: bool,
    no_filter: bool,
    no_normalize: bool,
    if_due: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Parse a fetched segment of CRAWL_DIR: the named one, or the oldest not parsed yet.

    Text, data and links of its pages become parse_data, parse_text and crawl_parse. A page
    whose parser hangs, dies or eats memory is recorded as failed, and the others go on.

    \b
    Examples:
      crawl parse mycrawl
      crawl parse mycrawl 20261115093000 -D parser.timeout=10s
      crawl parse mycrawl 20261115093000 --reparse -D plugin.parser=html-soup,text,metadata
    """
    if if_due:
        work = find_due_work("parse", crawl_dir, config, filter(None, [segment]))
        if work.code is not None:
            return work.code
        (segment,) = work.segments
    with open_crawl(crawl_dir, config, spark, command="parse") as web:
        done = web.parse(
            segment,
            reparse=reparse,
            filter=not no_filter,
            normalize=not no_normalize,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json({"segment": done.segments[0], "report": done.report})
    else:
        _summarize(crawl_dir, done)
    return 0


_FAMILIES = (
    *("pages", "skipped.", "truncated.", "parse.", "parse_empty.", "parsed_by."),
    *("parser_restarts", "documents_", "directives.", "fields.", "refreshes", "outlinks"),
)


def _summarize(crawl_dir: str, done: PhaseResult) -> None:
    counters = done.counters
    print_table("parse", ["what", "count"], counter_rows(counters, _FAMILIES))
    seconds = done.seconds["parse"]
    pace = counters["pages"] / seconds if seconds else 0.0
    remark(
        f"parse: {crawl_dir}/segments/{done.segments[0]}: {counters['pages']:,} pages,"
        f" {pace:,.1f} per second; {counters['outlinks_kept']:,} of"
        f" {counters['outlinks']:,} links kept"
    )
