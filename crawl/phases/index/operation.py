"""index as an operation."""

from __future__ import annotations

from typing import Any

from crawl.errors import NothingToDo
from crawl.operations.operation import Asked, Due, Operation, driver_check
from crawl.operations.work import Work
from crawl.phases.index.options import IndexOptions
from crawl.phases.index.shown import IndexingResult, indexing_result, render


def run(work: Work, options: IndexOptions) -> IndexingResult:
    from crawl.driver.derived import behind_lines
    from crawl.driver.phase_run import run_when_free
    from crawl.driver.prechecks import require_segments
    from crawl.model.derived_tables import INDEX
    from crawl.phases.index import run as driver
    from crawl.phases.index.choice import choose

    directory = work.directory
    specs = driver.check(work.config, options)
    behind = behind_lines(directory, ("invertlinks", "scoreupdater", "dedup"))
    if options.crawldb:
        directory.require_crawldb()
    require_segments(directory, options.segments)
    try:
        choose(directory, options, specs)
    except NothingToDo:
        settled = driver.settle(directory, work.config, options, work.clock)
        if settled is None:
            raise
        index = settled
    else:
        index = run_when_free(work, options, directory.dataset(INDEX).folder, driver.run)
    return indexing_result(index, behind)


def values(result: IndexingResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {
        "snapshot": result.index_snapshot,
        "segments": result.segments,
        "documents": result.documents,
        "report": result.report,
    }


OPERATION = Operation(
    name="index",
    run=run,
    check=driver_check(__package__),
    render=render,
    values=values,
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Make documents of pages and give them to the index writers that index.writers names.

    Of each URL the newest parse counts. Pages that are gone, redirected, duplicates, or that ask
    not to be indexed are left out. Without a SEGMENT: every one that is parsed and not indexed
    yet, also by one of the writers, and of older ones the pages that the CrawlDb no longer keeps
    out. Writers are told only what is new to them, and what they make is published at one moment:
    a job that dies changes nothing, and can be run again.

    The embedded index, which the index writer tantivy makes, needs the extra `search`.
    """,
    examples=(
        "crawl index mycrawl",
        "crawl index mycrawl --delete-gone -D index.writers=jsonl",
        "crawl index mycrawl --segments 20261115093000 --params 'path=/data/docs'",
        "crawl index mycrawl -D index.writers=opensearch"
        " --params 'url=http://search:9200&index=pages'",
        "crawl index mycrawl --since 12 --json",
        "crawl index mycrawl --rebuild -D indexingfilter.order=basic,anchor,more,language,links",
    ),
    calls=("web.index(delete_gone=True).documents",),
)
