"""invertlinks as an operation."""

from __future__ import annotations

from crawl.operations.operation import Asked, Due, Operation, driver_check
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.shown import counter_rows, segments_text
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.invertlinks.options import InvertLinksOptions


def run(work: Work, options: InvertLinksOptions) -> PhaseResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.driver.prechecks import require_segments
    from crawl.phases.invertlinks import run as driver
    from crawl.phases.invertlinks.linkdb import linkdb_of

    require_segments(work.directory, options.segments)
    driver.choose(work.directory, options)
    return run_when_free(work, options, linkdb_of(work.directory).folder, driver.run).result()


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters = {name: count for name, count in result.counters.items() if name != "links_sent"}
    return [
        Table("invertlinks", ["what", "count"], counter_rows(counters, _FAMILIES)),
        Note(
            f"{asked.address}/linkdb is now snapshot {result.snapshot} with"
            f" {result.counters['links_kept']:,} links, from {segments_text(result)}"
        ),
    ]


_FAMILIES = ("pages", "links", "dropped.")

OPERATION = Operation(
    name="invertlinks",
    check=driver_check(__package__),
    run=run,
    render=render,
    values=report_values("snapshot", "segments"),
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Merge the links of parsed segments into the LinkDb of CRAWL_DIR, turned around: for each URL
    the pages that link to it, with the texts of their links.

    Without a SEGMENT: every one that is parsed and not in the LinkDb yet. A segment is inverted
    once, and the order does not matter. Links within a host are left out where there are several
    (linkdb.ignore.internal.links: auto, true or false). Of more than linkdb.max.inlinks links to a
    URL those of the pages with the highest scores are kept.
    """,
    examples=(
        "crawl invertlinks mycrawl",
        "crawl invertlinks mycrawl 20261115093000 --no-normalize --no-filter",
        "crawl invertlinks mycrawl --segments 20261115093000 --again",
        "crawl invertlinks mycrawl -D linkdb.ignore.internal.links=false",
    ),
    calls=('web.invertlinks().counters["links_kept"]',),
)
