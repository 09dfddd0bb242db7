"""crawl generate."""

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
from crawl.cli.common.waiting_hosts import waiting_hosts_note
from crawl.config import Config
from crawl.facade.results import PhaseResult
from crawl.rounds import NOTHING_MORE
from crawl.spark.runners import SparkOptions

NOTHING_DUE = 1


@click.command("generate")
@crawl_dir_argument
@click.option(
    "--top-n", type=click.IntRange(min=1), metavar="N", help="At most this many URLs per segment."
)
@click.option(
    "--num-fetchers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parts of a fetch list, each fetched by a task (default: one a task slot of the cluster).",
)
@click.option(
    "--max-num-segments",
    type=click.IntRange(min=1),
    metavar="N",
    help="Make up to this many segments, each as if the ones before were taken already.",
)
@click.option(
    "--add-days", type=float, default=0.0, help="Select as if it were this many days later."
)
@click.option("--expr", help="Only records that this Spark SQL condition holds for.")
@click.option("--no-filter", is_flag=True, help="Do not ask the URL filters.")
@click.option(
    "--no-norm", is_flag=True, help="Count a host under its own name, not its normalised one."
)
@if_due_option
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    top_n: int | None,
    num_fetchers: int | None,
    max_num_segments: int | None,
    add_days: float,
    expr: str | None,
    no_filter: bool,
    no_norm: bool,
    if_due: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Select the due URLs with the highest scores into new segments of CRAWL_DIR.

    Exit code 1: nothing is due.

    \b
    Examples:
      crawl generate mycrawl --top-n 1000
      crawl generate mycrawl --top-n 50000 --num-fetchers 8 -D generate.max.count=100
      crawl generate mycrawl --expr "status = 'db_unfetched' AND score > 0.5"
      crawl generate mycrawl --max-num-segments 4 -D generate.update.crawldb=true
    """
    if if_due and (work := find_due_work("generate", crawl_dir, config)).code is not None:
        return work.code
    with open_crawl(crawl_dir, config, spark, command="generate") as web:
        done = web.generate(
            top_n=top_n,
            num_fetchers=num_fetchers,
            max_num_segments=max_num_segments,
            add_days=add_days,
            expr=expr,
            filter=False if no_filter else None,
            normalize=False if no_norm else None,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json({"segments": done.segments, "report": done.report})
    else:
        _summarize(crawl_dir, done)
    if done.segments:
        return 0
    return NOTHING_MORE if if_due else NOTHING_DUE


def _summarize(crawl_dir: str, done: PhaseResult) -> None:
    counters, details = done.counters, done.report["details"]
    rows: list[list[object]] = [["records", counters["records"]]]
    rows += [[name, counters[name]] for name in _REJECTIONS if counters[name]]
    rows += [[name, count] for name, count in sorted(counters.items()) if name.startswith("plugin")]
    rows.append(["selected", counters["urls_generated"]])
    print_table("generate", ["what", "URLs"], rows)
    if not done.segments:
        waiting = waiting_hosts_note(counters["hosts_waiting"], details.get("next_host_ms"))
        unfinished = details.get("unfinished_segments", [])
        remark(
            f"generate: nothing is due, no segment created{waiting}"
            f"{_awaited(counters['wait_for_update'], unfinished)}"
        )
        return
    print_table(
        "segments",
        ["segment", "URLs", "hosts", "parts", "predicted fetch time", "longest chain"],
        [
            [
                f"{crawl_dir}/segments/{segment['segment']}",
                segment["urls"],
                segment["chains"],
                sum(part["urls"] > 0 for part in segment["parts"]),
                _duration(segment["predicted_makespan_s"]),
                f"{segment['longest_chain']} ({_duration(segment['longest_chain_s'])})",
            ]
            for segment in details["segments"]
        ],
        first=False,
    )


def _awaited(urls: int, unfinished: list[str]) -> str:
    if not urls or not unfinished:
        return ""
    more = "" if len(unfinished) == 1 else f" and {len(unfinished) - 1:,} more"
    told = f"of segment {unfinished[0]}{more}, which `crawl updatedb` has not applied yet"
    return f"; {urls:,} URLs are {told}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


_REJECTIONS = (
    "url_filters_rejected",
    "schedule_rejected",
    "wait_for_update",
    "selected_before",
    "host_waits",
    "hosts_waiting",
    "trap.same_signature",
    "host_probed",
    "expr_rejected",
    "status_rejected",
    "score_not_a_number",
    "score_too_low",
    "interval_rejected",
    "urls_skipped_per_host_overflow",
    "hosts_affected_per_host_overflow",
    "below_top_n",
    "hosts_not_resolved",
)
