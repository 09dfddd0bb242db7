"""crawl run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TypeVar

import click

from crawl import hints
from crawl.cli.displays import displays
from crawl.cli.main import INTERRUPTED
from crawl.cli.options import crawl_dir_argument, force_option, json_option, with_config, with_spark
from crawl.cli.output import print_json, remark
from crawl.cli.rounds_told import Teller, last_words, limits_met, show_plan, sum_up
from crawl.cli.unlocked import require_unlocked
from crawl.config import Config
from crawl.errors import UsageError
from crawl.rounds import (
    STOP_FILE,
    UNBOUNDED,
    LoopOptions,
    RoundOptions,
    StopReason,
    build_round,
    next_step,
)
from crawl.rounds.loop import check as check_rounds
from crawl.rounds.loop import round_options
from crawl.rounds.on_spark import run_rounds
from crawl.rounds.state import segment_states
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.seeds import plan_seeds

Task = TypeVar("Task")
Result = TypeVar("Result")

NOTHING_DONE = 1
_USUAL = RoundOptions()


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
    default=_USUAL.top_n,
    show_default=True,
    help="At most this many URLs a round.",
)
@click.option(
    "--num-fetchers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parts of a fetch list, each fetched by a task (default: the cores of the cluster).",
)
@click.option(
    *("--num-threads", "--threads"),
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Threads a task (default: the configuration's, else {_USUAL.threads}).",
)
@click.option(
    "--time-limit-fetch",
    type=float,
    metavar="MINUTES",
    help="Of one fetch; what is left stays due; -1: none"
    f" (default: the configuration's, else {_USUAL.time_limit_min:g}).",
)
@click.option(
    *("-w", "--wait"),
    metavar="TIME",
    help="Where nothing is due, wait this long (30s, 10m, 2h, 1d), or until the first host that"
    " is left alone may be asked again, and look again.",
)
@click.option("--dry-run", is_flag=True, help="Tell what would be done, and do nothing.")
@force_option
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
    wait: str | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Crawl in rounds of generate, fetch, parse and updatedb, all in one Spark session.

    A round that was interrupted, by whatever, is finished first: run the same command
    again. A file .STOP in CRAWL_DIR ends the crawl after the step under way; Ctrl-C ends
    it now, in good order, with exit code 130. Exit code 1: nothing was due. Hosts that answer
    nothing are left alone for longer each time (`crawl status`), and do not hold the others.

    \b
    Examples:
      crawl run mycrawl --seeds seeds.txt --rounds 3 -D http.agent.name=mybot
      crawl run mycrawl --until-empty --top-n 10000
      crawl run mycrawl --rounds -1 --wait 1h
      crawl run mycrawl --dry-run
    """
    loop = LoopOptions.of(rounds, wait, until_empty=until_empty)
    options = round_options(
        config,
        top_n=top_n,
        num_fetchers=num_fetchers,
        threads=num_threads,
        time_limit_min=time_limit_fetch,
    )
    directory = CrawlDir(crawl_dir)
    check_rounds(config, options, seeds)
    # what cannot be read or written is told before Spark starts
    if seeds:
        plan_seeds(list(seeds))
    else:
        _require_crawldb(directory, crawl_dir)
    if dry_run:
        show_plan(crawl_dir, segment_states(directory), options, loop, seeds, as_json=as_json)
        return 0
    if directory.folder.exists(STOP_FILE):
        remark(f"run: {crawl_dir}/{STOP_FILE} is there: delete it and run the same command again")
        return NOTHING_DONE
    directory.require_writable()
    for folder in _written_first(directory, options, seeds):
        require_unlocked(folder, config, force=force)
    teller = Teller("run", quiet=spark.quiet, tables=not as_json)
    walked = run_rounds(
        *(spark, directory, config, options, loop),
        seeds=seeds,
        observer=teller,
        displays=displays(quiet=spark.quiet),
        force=force,
    )
    if as_json:
        rounds_done = [asdict(done) for done in walked.rounds]
        print_json(
            {
                "ending": walked.ending.name.lower(),
                "rounds": rounds_done,
                "hosts_waiting": walked.hosts_waiting,
                "next_host_ms": walked.next_host_ms,
            }
        )
    else:
        sum_up(walked)
    for line in limits_met(walked.rounds, config):
        remark(f"run: {line}")
    remark(f"run: {last_words(crawl_dir, walked)}")
    if walked.ending is StopReason.INTERRUPTED:
        return INTERRUPTED
    return 0 if walked.rounds or walked.ending is StopReason.STOP_FILE else NOTHING_DONE


def _written_first(
    directory: CrawlDir, options: RoundOptions, seeds: tuple[str, ...]
) -> list[Folder]:
    """What the first steps lock."""
    round_ = build_round(options)
    due = next_step(segment_states(directory), round_)
    found = [directory.crawldb.folder] if seeds else []
    if due.step in (round_.fetch, round_.parse):
        return found + [directory.segments.segment(name).folder for name in due.segments]
    return found or [directory.crawldb.folder]


def _require_crawldb(directory: CrawlDir, crawl_dir: str) -> None:
    if directory.crawldb.current() is None:
        raise UsageError(
            f"{crawl_dir} has no CrawlDb yet: start it with"
            f" `{hints.command('run', crawl_dir, '--seeds SEEDS')}`"
        )
