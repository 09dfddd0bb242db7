"""crawl run."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import print_json, remark
from crawl.cli.common.rounds_view import (
    TerminalObserver,
    behind_line,
    ending_line,
    limit_lines,
    print_totals,
    show_plan,
)
from crawl.cli.main import INTERRUPTED
from crawl.config import Config
from crawl.facade.results import Interrupted, RunResult
from crawl.rounds import AFTER_ROUNDS, STOP_FILE, UNBOUNDED, RoundOptions
from crawl.rounds.derived import behind, read_facts
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir

NOTHING_DONE = 1
_DEFAULTS = RoundOptions()


@click.command("run")
@crawl_dir_argument
@click.option(
    *("-s", "--seeds"),
    multiple=True,
    metavar="PATH",
    help="Seed file or folder to inject first (repeatable).",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=UNBOUNDED),
    metavar="N",
    help="At most this many; -1: any number (default: 1).",
)
@click.option("--until-empty", is_flag=True, help="Any number of rounds, until nothing is due now.")
@click.option(
    *("--top-n", "--size-fetchlist"),
    type=click.IntRange(min=1),
    metavar="N",
    default=_DEFAULTS.top_n,
    show_default=True,
    help="At most this many URLs per round.",
)
@click.option(
    "--num-fetchers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parts of a fetch list, each fetched by a task (default: one a task slot of the cluster).",
)
@click.option(
    *("--num-threads", "--threads"),
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Threads per task (default: the configuration's, else {_DEFAULTS.threads}).",
)
@click.option(
    "--time-limit-fetch",
    type=float,
    metavar="MINUTES",
    help="Of one fetch; what is left stays due; -1: none"
    f" (default: the configuration's, else {_DEFAULTS.time_limit_min:g}).",
)
@click.option(
    "--add-days",
    type=float,
    metavar="N",
    default=0.0,
    help="Fetch also what becomes due within this many days, each URL once.",
)
@click.option(
    *("-w", "--wait"),
    metavar="TIME",
    help="Where nothing is due, look again after this time (30s, 10m, 2h, 1d), or as soon as a"
    " host in backoff may be asked again.",
)
@click.option(
    "--overlap/--no-overlap",
    default=None,
    help="With --until-empty or --rounds -1: parse, updatedb and generate while the next list is"
    " fetched (default: crawl.rounds.overlap).",
)
@click.option(
    "--then",
    multiple=True,
    metavar="STEP[,STEP]",
    help="What follows the rounds: "
    + ", ".join(step.name for step in AFTER_ROUNDS)
    + ". With --wait it follows each of them.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    seeds: tuple[str, ...],
    rounds: int | None,
    until_empty: bool,
    top_n: int,
    num_fetchers: int | None,
    num_threads: int | None,
    time_limit_fetch: float | None,
    add_days: float,
    wait: str | None,
    overlap: bool | None,
    then: tuple[str, ...],
    dry_run: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Crawl in rounds of generate, fetch, parse and updatedb, all in one Spark session.

    A round that was interrupted, by whatever, is finished first: run the same command
    again. A file .STOP in CRAWL_DIR ends the crawl after the step under way; Ctrl-C ends
    it now, gracefully, with exit code 130. Exit code 1: nothing was due. Hosts that do not
    answer are left alone for longer each time (`crawl status`), and do not hold up the others.

    --then takes what the rounds brought into links, ranks, duplicates and the index, each step as
    its command does it without options, in the order in which they build on each other. A step
    that has nothing to do is passed over. Nothing follows an interruption or a .STOP: run the
    same command again.

    \b
    Examples:
      crawl run mycrawl --seeds seeds.txt --rounds 3 -D http.agent.name=mybot
      crawl run mycrawl --seeds seeds.txt --until-empty --then invertlinks,dedup,index,clean
      crawl run mycrawl --until-empty --top-n 10000
      crawl run mycrawl --until-empty --overlap
      crawl run mycrawl --until-empty --add-days 7
      crawl run mycrawl --rounds -1 --wait 1h
      crawl run mycrawl --dry-run
    """
    shape: dict[str, Any] = {
        "rounds": rounds,
        "until_empty": until_empty,
        "top_n": top_n,
        "num_fetchers": num_fetchers,
        "threads": num_threads,
        "time_limit_min": time_limit_fetch,
        "add_days": add_days,
        "wait": wait,
        "then": then,
    }
    if dry_run:
        _show_plan(crawl_dir, config, seeds, shape, as_json=as_json)
        return 0
    observer = partial(TerminalObserver, "run", quiet=spark.quiet, tables=not as_json)
    try:
        with open_crawl(crawl_dir, config, spark, command="run", observer=observer) as web:
            done = web.run(files=seeds, overlap=overlap, steal_lock=steal_lock, **shape)
    except Interrupted as interrupted:
        assert isinstance(interrupted.result, RunResult)
        done = interrupted.result
    if not done.is_started:
        remark(f"run: {crawl_dir}/{STOP_FILE} exists: delete it and run the same command again")
        return NOTHING_DONE
    if as_json:
        print_json(
            {
                "ending": done.ending,
                "rounds": [asdict(each) for each in done.rounds],
                "hosts_waiting": done.hosts_waiting,
                "next_host_ms": done.next_host_ms,
                "after": [asdict(each) for each in done.after],
            }
        )
    else:
        print_totals(done.rounds)
    for line in limit_lines(done.rounds, config):
        remark(f"run: {line}")
    left = behind_line(crawl_dir, behind(read_facts(CrawlDir(crawl_dir))))
    if left is not None:
        remark(f"run: {left}")
    remark(f"run: {ending_line(crawl_dir, done)}")
    if done.ending == "interrupted":
        return INTERRUPTED
    is_worked = bool(done.rounds) or any(step.is_done for step in done.after)
    return 0 if is_worked or done.ending == "stop_file" else NOTHING_DONE


def _show_plan(
    crawl_dir: str, config: Config, seeds: tuple[str, ...], shape: dict[str, Any], *, as_json: bool
) -> None:
    from crawl.facade.rounds import prepare_run
    from crawl.rounds.state import segment_states

    directory = CrawlDir(crawl_dir)
    loop, options = prepare_run(directory, config, seeds=seeds, files=seeds, **shape)
    show_plan(crawl_dir, segment_states(directory), options, loop, seeds, as_json=as_json)
