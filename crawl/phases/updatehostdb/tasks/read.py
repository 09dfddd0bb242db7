"""Hosts of the HostDb for others to read: the greatest by a column, or all into files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import as_text
from crawl.model.derived_tables import HOSTDB
from crawl.model.dump_format import DumpFormat
from crawl.printable import csv_cell, json_text, printable
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_writer
from crawl.tables.bucket_files import stored_groups
from crawl.tables.exchange import Received
from crawl.tables.matching import MATCHING
from crawl.tables.slices import Slice

SHOWN = [name for name in HOSTDB.names if not name.endswith(("_bins", "_counts"))]
"""The columns that people look at: all but the sketches."""

_SUFFIXES = {DumpFormat.CSV: "csv", DumpFormat.JSON: "jsonl", DumpFormat.TEXT: "txt"}


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
    matching = received.rows(MATCHING)["row"].to_numpy() if job.has_expr else None
    start = 0
    for rows in stored_groups(job.hostdb, base.files, list(job.columns)):
        size = rows.num_rows
        if matching is not None:
            rows = rows.filter(pa.array(np.isin(np.arange(start, start + size), matching)))
        start += size
        if rows.num_rows:
            yield rows


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
            columns[name] = [None if x is None else round(x, 4) for x in _numbers(column)]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _numbers(column: pa.ChunkedArray[Any]) -> list[Any]:
    return column.to_pylist()


def dump_hosts(job: DumpHostsJob, base: Slice, received: Received) -> int:
    """Writes the slice's wanted hosts; returns how many."""
    tables = hosts_of_slice(job.reading, base, received)
    first = next(tables, None)
    if first is None:
        return 0
    place = "" if base.is_whole else f"-{base.place:05d}"
    stem = f"part-{base.bucket:05d}{place}"
    if job.format is DumpFormat.PARQUET:
        with open_writer(job.output, f"{stem}.parquet", first.schema, whole=True) as writer:
            for table in (first, *tables):
                writer.write(table)
        return writer.rows
    count = 0
    with job.output.open_write(f"{stem}.{_SUFFIXES[job.format]}", whole=True) as stream:
        if job.format is DumpFormat.CSV:
            stream.write(_csv_line(list(job.reading.columns)))
        for table in (first, *tables):
            count += table.num_rows
            stream.write(b"".join(_rendered(job.format, row) for row in as_values(table)))
    return count


def as_host_paragraph(row: dict[str, Any]) -> str:
    """A host for people to read; what came from outside is escaped."""
    lines = [printable(row["host"])]
    lines += [
        printable(f"  {name:<20}{'' if value is None else value}")
        for name, value in row.items()
        if name != "host"
    ]
    return "\n".join(lines)


def _rendered(form: DumpFormat, row: dict[str, Any]) -> bytes:
    if form is DumpFormat.JSON:
        return json_text(row).encode() + b"\n"
    if form is DumpFormat.CSV:
        return _csv_line(
            [csv_cell(each) if isinstance(each, str) else each for each in row.values()]
        )
    return (as_host_paragraph(row) + "\n\n").encode()


def _csv_line(values: list[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue().encode()
