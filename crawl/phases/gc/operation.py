"""gc as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawl.counters import Counters
from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult
from crawl.operations.view import Note, View
from crawl.operations.work import Work
from crawl.phases.gc.options import GcOptions


@dataclass(frozen=True, slots=True)
class GarbageResult(PhaseResult):
    """What a garbage collection did."""

    forgotten: tuple[int, ...] = ()
    """The numbers of the snapshots that are gone."""
    kept: tuple[int, ...] = ()
    """Those of the snapshots that are kept, the current one last."""


def run(work: Work, options: GcOptions) -> GarbageResult:
    from crawl.phases.gc.run import collect_garbage

    swept = collect_garbage(
        work.directory, work.config, work.clock, options.keep, steal_lock=options.steal_lock
    )
    counters = Counters(
        snapshots_forgotten=len(swept.forgotten),
        snapshots_kept=len(swept.kept),
        files_deleted=swept.files_deleted,
    )
    return GarbageResult(
        "gc",
        counters,
        {},
        snapshot=swept.kept[-1],
        remarks=(swept.took_over,) if swept.took_over else (),
        forgotten=swept.forgotten,
        kept=swept.kept,
    )


def values(result: GarbageResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    deleted = result.counters["files_deleted"]
    return {"forgotten": result.forgotten, "kept": result.kept, "files_deleted": deleted}


def render(result: GarbageResult, asked: Asked) -> View:
    """What people are shown."""
    return [
        Note(
            f"forgot {_named(result.forgotten)}, kept {_named(result.kept)};"
            f" deleted {result.counters['files_deleted']} files"
        )
    ]


def _named(numbers: Sequence[int]) -> str:
    if not numbers:
        return "nothing"
    some = "snapshot" if len(numbers) == 1 else "snapshots"
    return f"{some} {', '.join(map(str, numbers))}"


OPERATION = Operation(
    name="gc",
    run=run,
    render=render,
    values=values,
    help="""
    Forget old snapshots of the CrawlDb of CRAWL_DIR and delete files that no kept one
    names, and what killed commands left unfinished. Writers do this themselves; run it to keep
    fewer.

    A reader whose snapshot is forgotten meanwhile starts again with the current one; only
    jobs of your own that read the files by name (`crawl snapshots --files`, the Spark format)
    must be run again.
    """,
    examples=("crawl gc mycrawl", "crawl gc mycrawl --keep 1"),
    calls=('web.gc(keep=1).counters["files_deleted"]',),
)
