"""crawl updatedb."""

from __future__ import annotations

import click

from crawl.cli.common.if_due import find_due_work, if_due_option
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
from crawl.facade.results import PhaseResult
from crawl.spark.runners import SparkOptions


@click.command("updatedb")
@crawl_dir_argument
@with_segments
@click.option("--no-additions", is_flag=True, help="Update known URLs only; add no new ones.")
@click.option(
    "--filter", "filters", is_flag=True, help="Drop every URL that the URL filters reject today."
)
@click.option(
    "--normalize", is_flag=True, help="Bring every URL into the form that is normal today."
)
@if_due_option
@click.option(
    "--again",
    is_flag=True,
    help="Apply named segments again, or whose fetch was interrupted.",
)
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segments: tuple[str, ...],
    no_additions: bool,
    filters: bool,
    normalize: bool,
    if_due: bool,
    again: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Merge segments into the CrawlDb of CRAWL_DIR: what became of fetched URLs and when they
    are due again, new URLs, and scores.

    Without a SEGMENT: every one that is fetched, parsed and not in the CrawlDb yet, oldest
    first. A segment that is named may be unparsed; then there are no links and signatures.
    A segment is applied once: after a `crawl rollback` to before it, it can be again.

    \b
    Examples:
      crawl updatedb mycrawl
      crawl updatedb mycrawl 20261115093000 20261115113000
      crawl updatedb mycrawl --no-additions
      crawl updatedb mycrawl --filter --normalize -D db.update.purge.404=true
    """
    if if_due:
        work = find_due_work("updatedb", crawl_dir, config, segments)
        if work.code is not None:
            return work.code
        segments = work.segments
    with open_crawl(crawl_dir, config, spark, command="updatedb") as web:
        done = web.updatedb(
            segments,
            additions=False if no_additions else None,
            filter=True if filters else None,
            normalize=True if normalize else None,
            again=again,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json({"snapshot": done.snapshot, "segments": done.segments, "report": done.report})
    else:
        _summarize(crawl_dir, done)
    return 0


def _summarize(crawl_dir: str, done: PhaseResult) -> None:
    from crawl.model.status import DB_STATUSES
    from crawl.phases.updatedb.rules import Event

    counters, urls = done.counters, done.db_urls or 0
    events = [
        [event.value.replace("_", " "), counters[event.value]]
        for event in Event
        if counters[event.value]
    ]
    shown = {event.value for event in Event}
    reasons = [
        [name, count]
        for name, count in sorted(counters.items())
        if count and name not in shown and name.startswith(_REASONS)
    ]
    print_table("updatedb", ["event", "URLs"], [*events, *reasons])
    statuses = [
        [status.label, counters[status.label]] for status in DB_STATUSES if counters[status.label]
    ]
    updated = sum(counters[status.label] for status in DB_STATUSES)
    statuses += [
        ["unchanged", urls - updated],
        ["total", urls],
    ]
    print_table("records", ["status", "URLs"], statuses, first=False)
    some = "segment" if len(done.segments) == 1 else "segments"
    remark(
        f"updatedb: {crawl_dir}/crawldb is now snapshot {done.snapshot} with"
        f" {urls:,} URLs, {counters['urls_new']:,} of them new, from"
        f" {len(done.segments)} {some}: {', '.join(done.segments)}"
    )


_REASONS = (
    "dropped.",
    "fetches_superseded",
    "inlinks_over_limit",
    "parses_without_fetch",
    "plugin_errors.",
    "records_filtered",
    "records_ignored",
    "refetch_forced",
    "reservations_lifted",
    "urls_moved",
    "urls_purged",
)
