"""crawl parse."""

from __future__ import annotations

import click

from crawl.cli.counted import counted
from crawl.cli.displays import show_parse
from crawl.cli.due import if_due_option, take_turn
from crawl.cli.options import crawl_dir_argument, force_option, json_option, with_config, with_spark
from crawl.cli.output import print_json, print_table, remark
from crawl.cli.segments import require_segments
from crawl.cli.unlocked import require_unlocked
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases import parse
from crawl.phases.parse import ParseOptions, ParseResult
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import CONTENT


@click.command("parse")
@crawl_dir_argument
@click.argument("segment", required=False)
@click.option("--reparse", is_flag=True, help="Parse a segment again and replace its parse.")
@click.option("--no-filter", is_flag=True, help="Keep links that the URL filters reject.")
@click.option("--no-normalize", is_flag=True, help="Leave links as the pages have them.")
@if_due_option
@force_option
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
    force: bool,
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
    parse.check(config)
    directory = CrawlDir(crawl_dir)
    if if_due:
        turn = take_turn("parse", directory, filter(None, [segment]))
        if turn.code is not None:
            return turn.code
        (segment,) = turn.segments
    require_segments(directory, (segment,) if segment else ())
    chosen = parse.choose(directory, segment, reparse=reparse)
    directory.require_writable()
    require_unlocked(chosen.folder, config, force=force)
    options = ParseOptions(chosen.name, reparse, not no_filter, not no_normalize, force)
    pages = chosen.require(CONTENT).rows
    with (
        spark.runner("parse", config, rows=pages, quiet=True) as runner,
        show_parse(chosen, quiet=spark.quiet),
    ):
        done = parse.run(runner, directory, config, options, SystemClock())
    if done.took_over:
        remark(f"parse: {done.took_over}")
    if as_json:
        print_json({"segment": done.segment, "report": done.report.as_dict()})
    else:
        _summarize(crawl_dir, done)
    return 0


_FAMILIES = (
    *("pages", "skipped.", "truncated.", "parse.", "parsed_by.", "parser_restarts"),
    *("documents_", "directives.", "refreshes", "outlinks"),
)


def _summarize(crawl_dir: str, done: ParseResult) -> None:
    counters = done.report.counters
    print_table("parse", ["what", "count"], counted(counters, _FAMILIES))
    seconds = done.report.durations_s["parse"]
    pace = counters["pages"] / seconds if seconds else 0.0
    remark(
        f"parse: {crawl_dir}/segments/{done.segment}: {counters['pages']:,} pages,"
        f" {pace:,.1f} a second; {counters['outlinks_kept']:,} links kept of"
        f" {counters['outlinks']:,}"
    )
