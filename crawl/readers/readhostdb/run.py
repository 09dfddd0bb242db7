"""readhostdb: the greatest hosts by a column, and dumps of the HostDb (of one host:
crawl/phases/updatehostdb/tasks/read.py)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from crawl.driver.output_folder import SUCCESS
from crawl.errors import UsageError
from crawl.model.derived_tables import HOSTDB
from crawl.phases.updatehostdb.tasks.read import (
    SHOWN,
    DumpHostsJob,
    ReadHostsJob,
    dump_hosts,
    top_of_slice,
)
from crawl.readers.slices import over_slices
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.scan import require_column
from crawl.tables.exchange import BlockSource
from crawl.tables.runner import Runner


def check_order(by: str) -> None:
    """Raises UsageError where hosts cannot be sorted by a column."""
    require_column(by, SHOWN, HOSTDB.name)
    kind = HOSTDB.schema.field(by).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind)):
        raise UsageError(f"hosts have no order by {by}, which is text")


def check_columns(columns: tuple[str, ...]) -> None:
    """Raises UsageError for columns that the HostDb does not have."""
    for column in columns:
        require_column(column, HOSTDB.names, HOSTDB.name)


def top(
    runner: Runner,
    crawl_dir: CrawlDir,
    snapshot: Snapshot,
    by: str,
    most: int,
    matching: BlockSource | None = None,
) -> list[dict[str, Any]]:
    """The `most` hosts with the greatest values in a column, greatest first."""
    check_order(by)
    folder = crawl_dir.dataset(HOSTDB).folder
    job = ReadHostsJob(folder, tuple(SHOWN), matching is not None)
    best_of_slices = over_slices(
        runner, snapshot, partial(top_of_slice, job, by, most), matching, "readhostdb", "top"
    )
    hosts = [row for rows in best_of_slices for row in rows]
    hosts.sort(key=lambda row: row["host"])
    # moments are texts here, and of one length: they sort as they should
    with_value = [row for row in hosts if row[by] is not None]
    without_value = [row for row in hosts if row[by] is None]
    with_value.sort(key=lambda row: row[by], reverse=True)
    return [*with_value, *without_value][:most]


def dump(
    job: DumpHostsJob, runner: Runner, snapshot: Snapshot, matching: BlockSource | None = None
) -> int:
    """Writes the wanted hosts into a folder that has room; returns how many."""
    dump_slice = partial(dump_hosts, job)
    written = over_slices(runner, snapshot, dump_slice, matching, "readhostdb", "dump")
    job.output.write(SUCCESS, b"")
    return sum(written)
