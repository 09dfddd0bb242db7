"""What dumps of the CrawlDb, the HostDb and the LinkDb have in common: options, and that a Spark
SQL condition may choose the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from crawl.errors import UsageError
from crawl.operations.options import option, subject
from crawl.operations.work import Work

if TYPE_CHECKING:
    from crawl.model.table import Table
    from crawl.storage.folder import Folder
    from crawl.storage.manifest import Snapshot
    from crawl.tables.exchange import BlockSource
    from crawl.tables.runner import Runner

UrlRegex = Annotated[
    str | None, option("With --dump: only URLs that match as a whole (RE2 syntax).")
]
Overwrite = Annotated[bool, option("With --dump: replace an older dump in FOLDER.")]


def dump_folder(rows: str) -> Meta:
    """The option by which a dump is meant: the folder that the rows go to."""
    return subject(f"Write {rows} to a new folder.", "--dump", metavar="FOLDER")


def checked_regex(regex: str | None) -> str | None:
    """The pattern, if RE2 understands it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if regex is not None:
        try:
            pc.match_substring_regex(pa.array(["x"]), f"^(?:{regex})$")
        except pa.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid regular expression: ")
            raise UsageError(f"--regex {regex!r}: {reason}") from error
    return regex


@contextmanager
def reading_rows(
    work: Work, state: Snapshot, expr: str | None, table: Table
) -> Iterator[tuple[Runner, BlockSource | None]]:
    """What reads the table, and the rows for which the condition holds."""
    if expr is None:
        with work.runner(rows=state.rows) as runner:
            yield runner, None
        return
    with work.session() as session, work.runner() as runner:
        from crawl.spark.expr import check_expression, matching_rows
        from crawl.storage.scan import with_status_names

        check_expression(session, expr, with_status_names(table))
        yield runner, matching_rows(session, work.directory, state, expr, table=table.name)


def dumping(
    work: Work,
    table: Table,
    expr: str | None,
    output: Folder,
    write: Callable[[Runner, Snapshot, BlockSource | None], int],
    *,
    overwrite: bool,
) -> Callable[[Snapshot], int]:
    """Dumps a state of the table into the folder, and once more where it was forgotten meanwhile.
    `write` does it, into a folder that has room, and says how many rows there were."""
    from crawl.driver.output_folder import check_room, make_room

    is_begun = False

    def dump(state: Snapshot) -> int:
        nonlocal is_begun
        # begun: the snapshot was forgotten, and what is there is ours
        check_room(output, overwrite=overwrite or is_begun)
        with reading_rows(work, state, expr, table) as (runner, matching):
            # an older dump is there as long as the condition may be a wrong one
            make_room(output, overwrite=overwrite or is_begun)
            is_begun = True
            return write(runner, state, matching)

    return dump
