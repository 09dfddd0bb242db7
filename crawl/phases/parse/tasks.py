"""One task of the parse phase: some content files of a segment become files of its parse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model import tables
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.sandbox import Sandbox
from crawl.storage.bucketed import write_bucketed
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.segments import CONTENT, PARSE, PARSE_DATA, PARSE_TEXT, PartFile

_SUCCESS = pa.scalar(int(Status.FETCH_SUCCESS), pa.int8())
_SCHEMAS = {PARSE_DATA: tables.PARSE_DATA.schema, PARSE_TEXT: tables.PARSE_TEXT.schema}
_GROUP_ROWS = 512
"""Pages in one row group: a reader that wants one page decompresses no more than these."""


@dataclass(frozen=True)
class ParseTask:
    """A parse as its tasks get it beside their files: the segment, the plan, and the buckets of the
    CrawlDb."""

    segment: Folder
    plan: ParsePlan
    buckets: int
    """Buckets of the CrawlDb, by which the rows of crawl_parse are split."""


@dataclass(frozen=True, slots=True)
class ParseTaskResult:
    """What a task has written: one file of each table of the parse, and its counts."""

    part: int
    pieces: dict[str, Piece]
    counters: Counters


def run_parse_task(
    task: ParseTask,
    files: tuple[PartFile, ...],
    on_progress: Callable[[int], None] = lambda pages: None,
) -> ParseTaskResult:
    """Parses the files one after the other; `on_progress` is called with the pages done."""
    part, counters = files[0].part, Counters()
    names = {table: attempt_name(f"part-{part:05d}") for table in (PARSE, PARSE_DATA, PARSE_TEXT)}
    links = [tables.CRAWL_PARSE.schema.empty_table()]
    with ExitStack() as stack:
        sandbox = stack.enter_context(Sandbox(task.plan))
        sandbox.start()
        writers = {
            part: stack.enter_context(
                open_writer(task.segment.child(part), names[part], _SCHEMAS[part], _GROUP_ROWS)
            )
            for part in _SCHEMAS
        }
        for pages in _pages(task.segment, files, counters):
            for batch in sandbox.parse_batches(pages, on_progress, counters["pages"]):
                writers[PARSE_DATA].write(batch.parse_data)
                writers[PARSE_TEXT].write(batch.parse_text)
                links.append(batch.crawl_parse)
                counters.update(batch.counters)
    pieces = {
        PARSE: write_bucketed(
            task.segment.child(PARSE), names[PARSE], pa.concat_tables(links), task.buckets
        )
    }
    for table, writer in writers.items():
        pieces[table] = Piece(names[table], writer.rows, writer.bytes)
    return ParseTaskResult(part, pieces, counters)


def _pages(segment: Folder, files: tuple[PartFile, ...], counters: Counters) -> Iterator[pa.Table]:
    """The pages to parse, a row group at a time."""
    for file in files:
        with open_table(segment.child(CONTENT), file.path, size=file.bytes) as source:
            for rows in each_group(source):
                good = rows.filter(pc.equal(rows["status"], _SUCCESS))
                skipped = rows.num_rows - good.num_rows
                if skipped:
                    counters["pages"] += skipped
                    counters["skipped.not_success"] += skipped
                if good.num_rows:
                    yield good
