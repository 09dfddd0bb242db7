"""rebucket as an operation."""

from __future__ import annotations

from typing import Any

from crawl.counters import Counters
from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult
from crawl.operations.view import Note, View
from crawl.operations.work import Work
from crawl.phases.rebucket.options import RebucketOptions


def run(work: Work, options: RebucketOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_unlocked
    from crawl.phases.rebucket import run as driver

    directory = work.directory
    present = directory.require_crawldb()
    driver.check(present, options.buckets)
    require_unlocked(directory.crawldb.folder, work.config, steal_lock=options.steal_lock)
    remarks: tuple[str, ...] = ()
    if present.buckets == options.buckets:
        state = driver.settle(directory, work.config, options, work.clock)
        already = f"{directory.address}/crawldb has {state.buckets:,} buckets already"
        remarks = (f"{already}: nothing to do",)
    else:
        with work.runner() as runner:
            state = driver.run(runner, directory, work.config, options, work.clock)
    counters = Counters(urls=state.rows, buckets=state.buckets)
    return PhaseResult(
        "rebucket", counters, {}, snapshot=state.number, db_urls=state.rows, remarks=remarks
    )


def values(result: PhaseResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {"snapshot": result.snapshot, **result.counters}


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown, where there was something to do."""
    if result.remarks:
        return []
    return [
        Note(
            f"{asked.address}/crawldb is now snapshot {result.snapshot}"
            f" with {result.db_urls:,} URLs in {result.counters['buckets']:,} buckets"
        )
    ]


OPERATION = Operation(
    name="rebucket",
    run=run,
    render=render,
    values=values,
    uses_spark=True,
    help="""
    Give the CrawlDb of CRAWL_DIR more buckets, when its files pass 256 MB or the cluster has more
    cores than the CrawlDb has buckets. Where it has so many already, that is said, and is no fault.
    """,
    examples=("crawl rebucket mycrawl --buckets 64",),
    calls=("web.rebucket(64).snapshot",),
)
