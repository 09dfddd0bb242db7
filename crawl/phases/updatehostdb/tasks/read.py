"""Hosts of the HostDb for others to read: one, the greatest by a column, or all into files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import as_text
from crawl.model.arrow import as_array
from crawl.model.derived_tables import HOSTDB
from crawl.model.dump_format import DumpFormat
from crawl.model.sketches import Sketches
from crawl.printable import csv_cell, json_text, printable
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.tables.dump_files import csv_line, write_dump
from crawl.tables.exchange import Received
from crawl.tables.lookup import find_rows
from crawl.tables.matching import matching_groups
from crawl.tables.slices import Slice

SHOWN = [name for name in HOSTDB.names if not name.endswith(("_bins", "_counts"))]
"""The columns that people look at: all but the sketches."""


@dataclass(frozen=True)
class ReadHostsJob:
    """A reading of the HostDb: its files, the columns, and whether an expression chooses the
    rows."""

    hostdb: Folder
    columns: tuple[str, ...]
    has_expr: bool = False
    """Whether only those rows are wanted whose numbers are received."""


@dataclass(frozen=True)
class DumpHostsJob:
    """A dump of the HostDb: what is read, where it goes, and in which form."""

    reading: ReadHostsJob
    output: Folder
    format: DumpFormat


def hosts_of_slice(job: ReadHostsJob, base: Slice, received: Received) -> Iterator[pa.Table]:
    """The wanted rows, a row group at a time."""
    matching = received if job.has_expr else None
    return matching_groups(job.hostdb, base, matching, list(job.columns))


def top_of_slice(
    job: ReadHostsJob, by: str, most: int, base: Slice, received: Received
) -> list[dict[str, Any]]:
    """The slice's hosts with the greatest values, greatest first."""
    empty = pa.schema([HOSTDB.schema.field(name) for name in job.columns]).empty_table()
    best = empty
    for rows in hosts_of_slice(job, base, received):
        best = greatest(pa.concat_tables([best, rows.replace_schema_metadata(None)]), by, most)
    return as_values(best)


def greatest(rows: pa.Table, by: str, most: int) -> pa.Table:
    """The rows with the greatest values; of equal ones the first hosts. Null is below all."""
    order = pc.sort_indices(rows, [(by, "descending"), ("host", "ascending")])
    return rows.take(order[:most])


def as_values(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as plain values, ready for JSON: moments are texts."""
    columns: dict[str, list[Any]] = {}
    for name in rows.column_names:
        column = rows[name]
        if pa.types.is_timestamp(column.type):
            moments: list[Any] = column.cast(pa.int64()).to_pylist()
            columns[name] = [None if at is None else as_text(at) for at in moments]
        elif pa.types.is_floating(column.type):
            numbers: list[Any] = column.to_pylist()
            columns[name] = [None if x is None else round(x, 4) for x in numbers]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def find_host(
    hostdb: Folder, snapshot: Snapshot, host: str, percentiles: tuple[float, ...] = ()
) -> dict[str, Any] | None:
    """One host as plain values, with these percentiles by its sketches; None where it is not
    known."""
    row = find_rows(HOSTDB, hostdb, snapshot, host)
    if row is None:
        return None
    (values,) = as_values(row.select(SHOWN))
    for name in ("response_ms", "size"):
        sketches = Sketches.of_lists(as_array(row[f"{name}_bins"]), as_array(row[f"{name}_counts"]))
        quantiles = sketches.quantiles([each / 100 for each in percentiles])
        if sketches.totals()[0]:
            for share, quantile in zip(percentiles, quantiles, strict=True):
                values[f"{name}_p{share:g}"] = round(float(quantile[0]), 4)
    return values


def dump_hosts(job: DumpHostsJob, base: Slice, received: Received) -> int:
    """Writes the slice's wanted hosts; returns how many."""
    tables = hosts_of_slice(job.reading, base, received)

    def rendered(tables: Iterable[pa.Table]) -> Iterator[bytes]:
        return (_rendered(job.format, row) for rows in tables for row in as_values(rows))

    return write_dump(job.output, job.format, base, tables, job.reading.columns, rendered)


def as_host_paragraph(row: dict[str, Any]) -> str:
    """A host for people to read; what came from outside is escaped."""
    others = ((name, value) for name, value in row.items() if name != "host")
    lines = (f"  {name:<20}{'' if value is None else value}" for name, value in others)
    return "\n".join(map(printable, [row["host"], *lines]))


def _rendered(form: DumpFormat, row: dict[str, Any]) -> bytes:
    if form is DumpFormat.JSON:
        return json_text(row).encode() + b"\n"
    if form is DumpFormat.CSV:
        return csv_line(csv_cell(each) if isinstance(each, str) else each for each in row.values())
    return (as_host_paragraph(row) + "\n\n").encode()
