"""linkrank as an operation."""

from __future__ import annotations

from crawl.config import Config
from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.view import Note, View
from crawl.operations.work import Work
from crawl.phases.linkrank.options import LinkRankOptions


def check(config: Config, options: LinkRankOptions) -> None:
    from crawl.phases.linkrank import run as driver

    driver.kernel_of(config, options)
    driver.lists_of(config, options)


def run(work: Work, options: LinkRankOptions) -> PhaseResult:
    from crawl.driver.derived import behind_lines
    from crawl.driver.phase_run import run_when_free
    from crawl.model.derived_tables import WEBGRAPH
    from crawl.phases.linkrank import run as driver

    graph = driver.require_graph(work.directory)
    lacking = behind_lines(work.directory, ("webgraph",))
    folder = work.directory.dataset(WEBGRAPH).folder
    return run_when_free(work, options, folder, driver.run, rows=graph.rows).result(*lacking)


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters = result.counters
    return [
        Note(
            f"{asked.address}/webgraph is now snapshot {result.snapshot} with scores of"
            f" {counters['nodes']:,} pages by {counters['edges']:,} links, after"
            f" {counters['iterations']} iterations in {result.seconds['iterations']:.1f} s"
        )
    ]


OPERATION = Operation(
    name="linkrank",
    check=check,
    run=run,
    render=render,
    values=report_values("snapshot"),
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Rank the pages of the link graph of CRAWL_DIR by the pages that link to them: by LinkRank, or by
    PageRank. The scores become those of the CrawlDb by `crawl scoreupdater`.
    """,
    examples=(
        "crawl linkrank mycrawl",
        "crawl linkrank mycrawl --iterations 20 -D link.analyze.damping.factor=0.9",
        "crawl linkrank mycrawl --pagerank --tolerance 1e-8",
        "crawl linkrank mycrawl --pagerank --by-domain",
        "crawl linkrank mycrawl --pagerank --seeds trusted.txt --deny spam.txt",
    ),
    calls=(
        "web.linkrank(iterations=20)",
        'web.linkrank(pagerank=True, tolerance=1e-8).counters["iterations"]',
    ),
)
