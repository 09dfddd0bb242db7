"""mergelinkdb as an operation."""

from __future__ import annotations

from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.shown import counter_rows
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.mergelinkdb.options import MergeLinkDbOptions


def run(work: Work, options: MergeLinkDbOptions) -> PhaseResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.phases.invertlinks.linkdb import linkdb_of
    from crawl.phases.mergelinkdb import run as driver

    driver.check(work.directory, work.config, options)
    return run_when_free(work, options, linkdb_of(work.directory).folder, driver.run).result()


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters = {name: count for name, count in result.counters.items() if name != "links_sent"}
    return [
        Table("mergelinkdb", ["what", "count"], counter_rows(counters, ("links", "dropped."))),
        Note(
            f"{asked.address}/linkdb is now snapshot {result.snapshot} with"
            f" {result.counters['links_kept']:,} links"
        ),
    ]


OPERATION = Operation(
    name="mergelinkdb",
    run=run,
    render=render,
    values=report_values("snapshot"),
    uses_spark=True,
    help="""
    Merge the LinkDbs of other crawls into that of CRAWL_DIR, making it if need be. The others stay
    as they are.

    Links are chosen as by invertlinks, so that it does not matter in which order LinkDbs are
    merged, or how often.
    """,
    examples=(
        "crawl mergelinkdb mycrawl crawl-2025 crawl-2026",
        "crawl mergelinkdb all-links mycrawl crawl-2025 --filter --normalize",
        "crawl mergelinkdb mycrawl s3://bucket/crawl --rebucket",
    ),
    calls=('web.mergelinkdb(["crawl-2025"]).counters["links_kept"]',),
)
