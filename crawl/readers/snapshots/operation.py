"""snapshots: the kept states of the CrawlDb. One command, two operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from crawl.clock import as_text
from crawl.errors import StorageError
from crawl.operations.operation import Asked, NoOptions, Operation
from crawl.operations.options import selector
from crawl.operations.view import Line, Table, View
from crawl.operations.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOptions:
    """The options of the files."""

    files: Annotated[bool, selector("Print the current snapshot's Parquet files instead.")] = False


def run_list(work: Work, options: NoOptions) -> list[dict[str, Any]]:
    from crawl.storage.manifest import Snapshot

    timeline = work.directory.require_timeline()
    rows = []
    for number in timeline.numbers:
        try:
            snapshot = work.directory.crawldb.snapshot(number)
        except StorageError as error:
            work.notice(f"{work.operation}: {error}")
            snapshot = Snapshot(number, 0, (), 0, "damaged")
        rows.append(
            {
                "snapshot": number,
                "made": as_text(snapshot.created_ms) if snapshot.buckets else "",
                "by": snapshot.phase,
                "urls": snapshot.rows,
                "bytes": snapshot.bytes,
                "current": number == timeline.current,
            }
        )
    return rows


def run_files(work: Work, options: FilesOptions) -> list[str]:
    current = work.directory.require_crawldb()
    return [work.directory.crawldb.folder.path(file.path) for file in current.files]


def render_list(states: list[dict[str, Any]], asked: Asked) -> View:
    """A row a snapshot."""
    rows = [list(state.values()) for state in states]
    return [Table("snapshots of the CrawlDb", list(states[0]), rows)]


def render_files(paths: list[str], asked: Asked) -> View:
    """A line a file."""
    return [Line("\n".join(paths))]


OPERATIONS = (
    Operation(
        name="snapshots",
        command_help="List the kept states of the CrawlDb of CRAWL_DIR, the current one last.",
        examples=(
            "crawl snapshots mycrawl",
            'duckdb -c "SELECT status, count(*) FROM read_parquet([$(crawl snapshots mycrawl \\\n'
            '      --files | sed "s/.*/\'&\'/" | paste -sd,)]) GROUP BY 1"',
        ),
        run=run_list,
        render=render_list,
        help="The kept states of the CrawlDb, the current one last.",
        calls=('[state["snapshot"] for state in web.snapshots()]',),
    ),
    Operation(
        name="snapshot_files",
        command="snapshots",
        run=run_files,
        render=render_files,
        help="The Parquet files of the CrawlDb's current state, for programs that read them.",
        calls=("web.snapshot_files()[0]",),
    ),
)
