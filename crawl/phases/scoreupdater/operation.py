"""scoreupdater as an operation."""

from __future__ import annotations

from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.view import Note, View
from crawl.operations.work import Work
from crawl.phases.scoreupdater.options import ScoreUpdaterOptions


def run(work: Work, options: ScoreUpdaterOptions) -> PhaseResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.phases.linkrank.run import require_scores
    from crawl.phases.scoreupdater import run as driver

    directory = work.directory
    directory.require_crawldb()
    require_scores(directory)
    update = run_when_free(work, options, directory.crawldb.folder, driver.run)
    return update.phase_result


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters = result.counters
    return [
        Note(
            f"{asked.address}/crawldb is now snapshot {result.snapshot} with"
            f" {counters['urls_scored']:,} URLs scored by links, {counters['urls_cleared']:,} not"
            f" in the link graph; {counters['nodes_unknown']:,} of its pages are not in the CrawlDb"
        )
    ]


OPERATION = Operation(
    name="scoreupdater",
    run=run,
    render=render,
    values=report_values("snapshot"),
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Make the scores of the link graph of CRAWL_DIR those of its CrawlDb. URLs that the graph does
    not know get link.score.updater.clear.score.
    """,
    examples=(
        "crawl scoreupdater mycrawl",
        "crawl scoreupdater mycrawl -D link.score.updater.clear.score=0.1",
    ),
    calls=('web.scoreupdater().counters["urls_scored"]',),
)
