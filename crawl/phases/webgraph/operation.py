"""webgraph as an operation."""

from __future__ import annotations

from crawl.operations.operation import Asked, Due, Operation, driver_check
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.printable import plural


def run(work: Work, options: WebGraphOptions) -> PhaseResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.driver.prechecks import require_segments
    from crawl.model.derived_tables import WEBGRAPH
    from crawl.phases.webgraph import run as driver

    require_segments(work.directory, options.segments)
    driver.choose(work.directory, options)
    folder = work.directory.dataset(WEBGRAPH).folder
    return run_when_free(work, options, folder, driver.run).result()


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    rows = [
        [name.replace("dropped.", "dropped: ").replace("_", " "), count]
        for name, count in result.counters.items()
        if count
    ]
    address, nodes, edges = asked.address, result.counters["nodes"], result.counters["edges"]
    return [
        Table("webgraph", ["what", "count"], sorted(rows)),
        Note(
            f"{address}/webgraph is now snapshot {result.snapshot} with {nodes:,} pages and"
            f" {edges:,} links, from {plural(len(result.segments), 'new segment')}"
            + (f"; next: `crawl linkrank {address}`" if edges else "")
        ),
    ]


OPERATION = Operation(
    name="webgraph",
    check=driver_check(__package__),
    run=run,
    render=render,
    values=report_values("snapshot", "segments"),
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Take the links of parsed segments into the link graph of CRAWL_DIR: pages that link or are
    linked to, and which to which. Of a page that was fetched several times, the newest counts.

    Without a SEGMENT: every one that is parsed and not in the graph yet. Which links count say
    the properties link.ignore.*; by default, where there is more than one domain, none within one,
    and of several to or from one the first. Scores of an older linkrank are gone with the graph
    that they belong to.
    """,
    examples=(
        "crawl webgraph mycrawl",
        "crawl webgraph mycrawl 20261115093000 --filter --normalize",
        "crawl webgraph mycrawl -D link.ignore.internal.domain=false"
        " -D link.ignore.limit.domain=false",
    ),
    calls=('web.webgraph().counters["nodes"]',),
)
