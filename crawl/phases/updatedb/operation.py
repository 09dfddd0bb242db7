"""updatedb as an operation."""

from __future__ import annotations

from crawl.model.status import DB_STATUSES
from crawl.operations.operation import Asked, Due, Operation, driver_check
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.shown import segments_text
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.updatedb.options import UpdateDbOptions


def run(work: Work, options: UpdateDbOptions) -> PhaseResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.driver.prechecks import require_segments
    from crawl.phases.updatedb import run as driver

    directory = work.directory
    require_segments(directory, options.segments)
    driver.choose(directory, options)
    updated = run_when_free(work, options, directory.crawldb.folder, driver.run)
    return updated.phase_result


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    from crawl.phases.updatedb.rules import Event

    counters, urls = result.counters, result.db_urls or 0
    events = [
        [event.value.replace("_", " "), counters[event.value]]
        for event in Event
        if counters[event.value]
    ]
    event_names = {event.value for event in Event}
    reasons = [
        [name, count]
        for name, count in sorted(counters.items())
        if count and name not in event_names and name.startswith(_REASONS)
    ]
    statuses = [
        [status.label, counters[status.label]] for status in DB_STATUSES if counters[status.label]
    ]
    updated = sum(counters[status.label] for status in DB_STATUSES)
    statuses += [["unchanged", urls - updated], ["total", urls]]
    return [
        Table("updatedb", ["event", "URLs"], [*events, *reasons]),
        Table("records", ["status", "URLs"], statuses),
        Note(
            f"{asked.address}/crawldb is now snapshot {result.snapshot} with"
            f" {urls:,} URLs, {counters['urls_new']:,} of them new, from {segments_text(result)}"
        ),
    ]


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

OPERATION = Operation(
    name="updatedb",
    check=driver_check(__package__),
    run=run,
    render=render,
    values=report_values("snapshot", "segments"),
    uses_spark=True,
    due=Due.IN_ROUND,
    help="""
    Merge segments into the CrawlDb of CRAWL_DIR: what became of fetched URLs and when they are due
    again, new URLs, and scores.

    Without a named segment: every one that is fetched, parsed and not in the CrawlDb yet, oldest
    first. A segment that is named may be unparsed; then there are no links and signatures. A
    segment is applied once: after a `crawl rollback` to before it, it can be again.
    """,
    examples=(
        "crawl updatedb mycrawl",
        "crawl updatedb mycrawl 20261115093000 20261115113000",
        "crawl updatedb mycrawl --no-additions",
        "crawl updatedb mycrawl --filter --normalize -D db.update.purge.404=true",
    ),
    calls=('web.updatedb().counters["urls_new"]',),
)
