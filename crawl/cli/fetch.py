"""crawl fetch."""

from __future__ import annotations

from collections.abc import Callable

import click

from crawl.cli.counted import counted
from crawl.cli.displays import show_fetch
from crawl.cli.due import if_due_option, take_turn
from crawl.cli.main import INTERRUPTED
from crawl.cli.options import crawl_dir_argument, force_option, json_option, with_config, with_spark
from crawl.cli.output import print_json, print_table, remark
from crawl.cli.segments import require_segments
from crawl.cli.unlocked import require_unlocked
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import EnvironmentFault
from crawl.fetcher.part import STOP
from crawl.phases import fetch
from crawl.phases.fetch import Fetched, FetchOptions
from crawl.rounds.interrupt import sigterm_interrupts, stop_on_signal
from crawl.spark.runners import JVMDied, SparkOptions
from crawl.storage.crawl_dir import CrawlDir


@click.command("fetch")
@crawl_dir_argument
@click.argument("segment", required=False)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads a task (default: fetcher.threads.fetch).",
)
@if_due_option
@force_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segment: str | None,
    threads: int | None,
    if_due: bool,
    force: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Fetch a segment of CRAWL_DIR: the named one, or the oldest that is not fetched yet.

    `http.agent.name` must be set. Ctrl-C ends the fetch in good order: what is fetched is
    kept (exit code 130), and the same command goes on with the rest.

    \b
    Examples:
      crawl fetch mycrawl -D http.agent.name=mybot
      crawl fetch mycrawl 20261115093000 --threads 50 -D fetcher.timelimit.mins=60
    """
    if threads is not None:
        config = config.with_values({"fetcher.threads.fetch": threads}, "--threads")
    fetch.check(config)
    directory = CrawlDir(crawl_dir)
    if if_due:
        turn = take_turn("fetch", directory, filter(None, [segment]))
        if turn.code is not None:
            return turn.code
        (segment,) = turn.segments
    require_segments(directory, (segment,) if segment else ())
    chosen = fetch.choose(directory, segment)
    require_unlocked(chosen.folder, config, force=force)
    options = FetchOptions(chosen.name, force)
    interrupted: Callable[[], bool] = bool  # not yet
    try:
        with (
            sigterm_interrupts(),
            spark.runner("fetch", config, quiet=True) as runner,
            stop_on_signal(lambda: chosen.folder.write(STOP, b""), "fetch", remark) as interrupted,
            show_fetch(chosen, quiet=spark.quiet),
        ):
            done = fetch.run(runner, directory, config, options, SystemClock(), interrupted)
    except JVMDied as error:
        told = "Spark's JVM died; what is fetched is kept, and the same command goes on"
        if not interrupted():
            raise EnvironmentFault(told) from error
        remark(f"fetch: {told}")  # of the same signal, sent to all processes at once
        return INTERRUPTED
    if done.took_over:
        remark(f"fetch: {done.took_over}")
    if as_json:
        print_json(
            {"segment": done.segment, "complete": done.complete, "report": done.report.as_dict()}
        )
    else:
        _summarize(crawl_dir, done)
    return INTERRUPTED if interrupted() and not done.complete else 0


_FAMILIES = (
    *("records", "requests", "bytes", "fetch_", "answers.", "redirects_", "robots_"),
    *("handed_back.", "queues_", "no_host", "already_", "hung_"),
    *("pages", "truncated.", "parse.", "parsed_by.", "outlinks"),  # where it parses, too
)


def _summarize(crawl_dir: str, done: Fetched) -> None:
    counters = done.report.counters
    print_table("fetch", ["what", "count"], counted(counters, _FAMILIES))
    latency = done.report.details["latency_ms"]
    seconds = done.report.durations_s["fetch"]
    pace = counters["records"] / seconds if seconds else 0.0
    told = ", ".join(f"{name} {value} ms" for name, value in latency.items())
    remark(
        f"fetch: {crawl_dir}/segments/{done.segment}: {counters['records']:,} records,"
        f" {pace:,.1f} a second" + (f"; latency {told}" if told else "")
    )
    if not done.complete:
        remark("fetch: interrupted; the same command goes on with the rest")
