"""readhostdb: one host, the greatest by a column, and dumps of the HostDb."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from crawl.buckets.bucket_files import largest_first
from crawl.buckets.exchange import NOTHING, BlockSource, Outbox, Received
from crawl.buckets.hostdb.read import (
    SHOWN,
    DumpHostsJob,
    ReadHostsJob,
    as_values,
    dump_hosts,
    top_of_slice,
)
from crawl.buckets.lookup import find_rows
from crawl.buckets.runner import Runner
from crawl.buckets.slices import Slice, Slices
from crawl.errors import UsageError
from crawl.model.arrow import as_array
from crawl.model.sketches import Sketches
from crawl.model.tables import HOSTDB
from crawl.phases.readdb import SUCCESS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.scan import require_column

Result = TypeVar("Result")


def find_host(
    crawl_dir: CrawlDir, snapshot: Snapshot, host: str, percentiles: tuple[float, ...] = ()
) -> dict[str, Any] | None:
    """One host as plain values, with these percentiles by its sketches; None where it is not
    known."""
    rows = find_rows(HOSTDB, crawl_dir.dataset(HOSTDB).folder, snapshot, host)
    if rows is None:
        return None
    (found,) = as_values(rows.select(SHOWN))
    for name in ("response_ms", "size"):
        sketches = Sketches.of_lists(
            as_array(rows[f"{name}_bins"]), as_array(rows[f"{name}_counts"])
        )
        values = sketches.quantiles([each / 100 for each in percentiles])
        if sketches.totals()[0]:
            known = zip(percentiles, values, strict=True)
            found |= {f"{name}_p{each:g}": round(float(value[0]), 4) for each, value in known}
    return found


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
    found = _over_slices(
        runner, snapshot, partial(top_of_slice, job, by, most), matching, "readhostdb: top"
    )
    every = [row for rows in found for row in rows]
    every.sort(key=lambda row: row["host"])
    # moments are texts here, and of one length: they sort as they should
    known = [row for row in every if row[by] is not None]
    unknown = [row for row in every if row[by] is None]
    known.sort(key=lambda row: row[by], reverse=True)
    return [*known, *unknown][:most]


def dump(
    runner: Runner, snapshot: Snapshot, job: DumpHostsJob, matching: BlockSource | None = None
) -> int:
    """Writes the wanted hosts into a folder that has room; returns how many."""
    written = _over_slices(runner, snapshot, partial(dump_hosts, job), matching, "readhostdb: dump")
    job.output.write(SUCCESS, b"")
    return sum(written)


def _over_slices(
    runner: Runner,
    snapshot: Snapshot,
    function: Callable[[Slice, Received], Result],
    matching: BlockSource | None,
    step: str,
) -> list[Result]:
    slices = Slices.of(snapshot, snapshot.buckets)
    tasks = largest_first(slices.stored())
    if matching is None:
        return runner.run(partial(_alone, function), tasks, step)
    matches = runner.exchange(_send_nothing, (), len(slices), "readhostdb: expr", [matching])
    return matches.run(function, [(task.number, task) for task in tasks], step)


def _alone(function: Callable[[Slice, Received], Result], base: Slice) -> Result:
    return function(base, NOTHING)


def _send_nothing(task: None, outbox: Outbox) -> None:
    """Where only a source sends."""
