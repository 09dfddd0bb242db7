"""crawl fetch."""

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
from crawl.cli.main import INTERRUPTED
from crawl.config import Config
from crawl.facade.results import Interrupted, PhaseResult
from crawl.operations.shown import counter_rows
from crawl.spark.runners import SparkOptions


@click.command("fetch")
@crawl_dir_argument
@click.argument("segment", required=False)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads per task (default: fetcher.threads.fetch).",
)
@click.option(
    "--more-rounds",
    is_flag=True,
    help="A further round follows: a tail of few slow hosts is left for it (fetcher.tail.cut).",
)
@if_due_option
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segment: str | None,
    threads: int | None,
    more_rounds: bool,
    if_due: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Fetch a segment of CRAWL_DIR: the named one, or the oldest that is not fetched yet.

    `http.agent.name` must be set. Ctrl-C stops the fetch gracefully: what is fetched is
    kept (exit code 130), and the same command resumes it.

    \b
    Examples:
      crawl fetch mycrawl -D http.agent.name=mybot
      crawl fetch mycrawl 20261115093000 --threads 50 -D fetcher.timelimit.mins=60
      crawl fetch mycrawl --more-rounds
    """
    if if_due:
        work = find_due_work("fetch", crawl_dir, config, filter(None, [segment]))
        if work.code is not None:
            return work.code
        (segment,) = work.segments
    try:
        with open_crawl(crawl_dir, config, spark, command="fetch") as web:
            done = web.fetch(
                segment, threads=threads, more_rounds=more_rounds, steal_lock=steal_lock
            )
    except Interrupted as interrupted:
        if not isinstance(interrupted.result, PhaseResult):
            remark(f"fetch: {interrupted}")
            return INTERRUPTED
        done = interrupted.result
    print_remarks(done)
    if as_json:
        print_json({"segment": done.segments[0], "complete": done.complete, "report": done.report})
    else:
        _summarize(crawl_dir, done)
    return 0 if done.complete else INTERRUPTED


_FAMILIES = (
    *("records", "requests", "bytes", "fetch_", "answers.", "redirects_", "robots_"),
    *("handed_back.", "queues_", "no_host", "already_", "hung_"),
    # where it parses, too
    *("pages", "truncated.", "parse.", "parse_empty.", "parsed_by.", "outlinks"),
)


def _summarize(crawl_dir: str, done: PhaseResult) -> None:
    counters = done.counters
    print_table("fetch", ["what", "count"], counter_rows(counters, _FAMILIES))
    latency = done.report["details"]["latency_ms"]
    seconds = done.seconds["fetch"]
    pace = counters["records"] / seconds if seconds else 0.0
    told = ", ".join(f"{name} {value} ms" for name, value in latency.items())
    remark(
        f"fetch: {crawl_dir}/segments/{done.segments[0]}: {counters['records']:,} records,"
        f" {pace:,.1f} per second" + (f"; latency {told}" if told else "")
    )
    if "tail" in done.report["details"]:
        left = counters["handed_back.tail"]
        remark(f"fetch: ended as a tail of few hosts; {left:,} URLs are left for the next round")
    if not done.complete:
        remark("fetch: interrupted; run the same command to resume")
