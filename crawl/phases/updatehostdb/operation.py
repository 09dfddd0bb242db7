"""updatehostdb as an operation."""

from __future__ import annotations

from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.printable import plural


def run(work: Work, options: UpdateHostDbOptions) -> PhaseResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.driver.prechecks import require_segments
    from crawl.model.derived_tables import HOSTDB
    from crawl.phases.updatehostdb import run as driver

    directory = work.directory
    directory.require_crawldb()
    require_segments(directory, options.segments)
    driver.choose(directory, options)
    return run_when_free(work, options, directory.dataset(HOSTDB).folder, driver.run).result()


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters = result.counters
    rows = [[name, counters[name]] for name in _COUNTERS if counters[name]]
    names = f": {', '.join(result.segments)}" if result.segments else ""
    return [
        Table("updatehostdb", ["what", "count"], rows),
        Note(
            f"{asked.address}/hostdb is now snapshot {result.snapshot} with"
            f" {counters['hosts']:,} hosts;"
            f" {plural(len(result.segments), 'segment')} counted{names}"
        ),
    ]


_COUNTERS = (
    "hosts",
    "hosts_new",
    "hosts_without_urls",
    "hosts_forgotten",
    "urls",
    "requests",
    "bytes",
    "cache_files_unread",
)

OPERATION = Operation(
    name="updatehostdb",
    run=run,
    render=render,
    values=report_values("snapshot", "segments"),
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Count what each host of CRAWL_DIR is like, and keep it as its HostDb.

    Its URLs by status and its homepage, as the CrawlDb has them now; requests, failures, response
    times and sizes of all segments together; what is known of its robots.txt, its sitemaps and its
    name.

    Without a SEGMENT: every one that is fetched and not counted yet. A segment is counted once.
    `crawl readhostdb` shows it; generate uses it in `generate.max.count=auto`,
    `generate.max.count.expr` and `generate.fetch.delay.expr`.
    """,
    examples=(
        "crawl updatehostdb mycrawl",
        "crawl updatehostdb mycrawl 20261115093000",
        "crawl updatehostdb mycrawl --rebuild -D hostdb.content.sizes=false",
    ),
    calls=('web.updatehostdb().counters["hosts"]',),
)
