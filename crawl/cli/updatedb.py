"""crawl updatedb."""

from __future__ import annotations

import click

from crawl.cli.due import Turn, if_due_option, take_turn
from crawl.cli.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.output import print_json, print_table, remark
from crawl.cli.segments import require_segments
from crawl.cli.unlocked import require_unlocked
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.status import DB_STATUSES
from crawl.phases import updatedb
from crawl.phases.updatedb import UpdateDbOptions, UpdateDbResult
from crawl.rules.updatedb import Event
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir


@click.command("updatedb")
@crawl_dir_argument
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
@click.option("--no-additions", is_flag=True, help="Update known URLs only; add no new ones.")
@click.option(
    "--filter", "filters", is_flag=True, help="Drop every URL that the URL filters reject today."
)
@click.option(
    "--normalize", is_flag=True, help="Bring every URL into the form that is normal today."
)
@if_due_option
@click.option(
    "--force",
    is_flag=True,
    help="Apply segments again, or whose fetch was interrupted; take the lock even if its"
    " owner seems to be at work.",
)
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
    force: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Take what segments brought into the CrawlDb of CRAWL_DIR: what became of fetched
    URLs and when they are due again, new URLs, and scores.

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
    directory = CrawlDir(crawl_dir)
    turn = take_turn("updatedb", directory, segments) if if_due else Turn(segments)
    options = UpdateDbOptions(
        turn.segments,
        additions=False if no_additions else None,
        filter=True if filters else None,
        normalize=True if normalize else None,
        force=force,
    )
    updatedb.check(config, options)
    if turn.code is not None:
        return turn.code
    # what cannot be applied or written is told before Spark starts
    require_segments(directory, segments)
    updatedb.choose(directory, options)
    directory.require_writable()
    require_unlocked(directory.crawldb.folder, config, force=force)
    with spark.runner("updatedb", config) as runner:
        done = updatedb.run(runner, directory, config, options, SystemClock())
    for line in (*done.remarks, *filter(None, [done.took_over])):
        remark(f"updatedb: {line}")
    if as_json:
        print_json(
            {
                "snapshot": done.snapshot.number,
                "segments": done.segments,
                "report": done.report.as_dict(),
            }
        )
    else:
        _summarize(crawl_dir, done)
    return 0


def _summarize(crawl_dir: str, done: UpdateDbResult) -> None:
    counters = done.report.counters
    happened = [
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
    print_table("updatedb", ["what happened", "URLs"], [*happened, *reasons])
    statuses = [
        [status.label, counters[status.label]] for status in DB_STATUSES if counters[status.label]
    ]
    heard_of = sum(counters[status.label] for status in DB_STATUSES)
    statuses += [
        ["not heard of, as before", done.snapshot.rows - heard_of],
        ["in all", done.snapshot.rows],
    ]
    print_table("became", ["now", "URLs"], statuses, first=False)
    some = "segment" if len(done.segments) == 1 else "segments"
    remark(
        f"updatedb: {crawl_dir}/crawldb is now snapshot {done.snapshot.number} with"
        f" {done.snapshot.rows:,} URLs, {counters['urls_new']:,} of them new, from"
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
