"""clean as an operation."""

from __future__ import annotations

from typing import Any

from crawl.operations.operation import Asked, Due, Operation, driver_check
from crawl.operations.work import Work
from crawl.phases.clean.options import CleanOptions
from crawl.phases.index.shown import IndexingResult, indexing_result, render


def run(work: Work, options: CleanOptions) -> IndexingResult:
    from crawl.driver.derived import behind_lines
    from crawl.driver.prechecks import require_unlocked
    from crawl.model.derived_tables import INDEX
    from crawl.phases.clean import run as driver

    directory = work.directory
    specs = driver.check(work.config, options)
    behind = behind_lines(directory, ("dedup",))
    directory.require_crawldb()
    driver.require_index(directory, specs)
    folder = directory.dataset(INDEX).folder
    require_unlocked(folder, work.config, steal_lock=options.steal_lock)
    with work.runner() as runner:
        index = driver.run(runner, directory, work.config, options, work.clock)
    return indexing_result(index, behind)


def values(result: IndexingResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {
        "snapshot": result.index_snapshot,
        "documents": result.documents,
        "report": result.report,
    }


OPERATION = Operation(
    name="clean",
    run=run,
    check=driver_check(__package__),
    render=render,
    values=values,
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Delete stale documents from every index writer: those of pages that the CrawlDb of CRAWL_DIR
    has as gone, redirected, duplicates or orphans, and of URLs that it no longer has.

    Run it after `crawl dedup` or when pages were purged; no segment is needed.
    """,
    examples=("crawl clean mycrawl", "crawl clean mycrawl --json -D index.writers=jsonl,tantivy"),
    calls=("web.clean().documents",),
)
