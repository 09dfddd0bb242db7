"""rollback as an operation."""

from __future__ import annotations

from typing import Any

from crawl.counters import Counters
from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult
from crawl.operations.shown import crawldb_note
from crawl.operations.view import View
from crawl.operations.work import Work
from crawl.phases.rollback.options import RollbackOptions


def run(work: Work, options: RollbackOptions) -> PhaseResult:
    from crawl.phases.rollback.run import roll_back

    snapshot, took_over = roll_back(
        work.directory, work.config, work.clock, options.to, steal_lock=options.steal_lock
    )
    return PhaseResult(
        "rollback",
        Counters(urls=snapshot.rows),
        {},
        snapshot=snapshot.number,
        db_urls=snapshot.rows,
        remarks=(took_over,) if took_over else (),
    )


def values(result: PhaseResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {"snapshot": result.snapshot, "urls": result.db_urls}


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    return [crawldb_note(result, asked)]


OPERATION = Operation(
    name="rollback",
    run=run,
    render=render,
    values=values,
    help="""
    Make an older state of the CrawlDb of CRAWL_DIR the current one.

    Without --to that is the newest whole one before it. Nothing is deleted: `crawl snapshots`
    still lists the newer states, and rolling forward is the same command. Segments stay as
    they are.
    """,
    examples=("crawl rollback mycrawl", "crawl rollback mycrawl --to 7"),
    calls=("web.rollback().snapshot",),
)
