"""A slice of a table written for others to read: Parquet, CSV, JSON lines or text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from crawl.model.dump_format import DumpFormat
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_writer
from crawl.tables.slices import Slice

_SUFFIX = {
    DumpFormat.PARQUET: "parquet",
    DumpFormat.CSV: "csv",
    DumpFormat.JSON: "jsonl",
    DumpFormat.TEXT: "txt",
}


def write_dump(
    output: Folder,
    form: DumpFormat,
    base: Slice,
    tables: Iterable[pa.Table],
    header: Iterable[str],
    rendered: Callable[[Iterable[pa.Table]], Iterable[bytes]],
    schema: pa.Schema | None = None,
) -> int:
    """Writes the file of a slice's wanted rows, none where there is none; returns how many.
    Parquet has the schema, or that of the rows; all else is what `rendered` makes of the tables,
    CSV below a header."""
    tables = (table for table in tables if table.num_rows)
    first = next(tables, None)
    if first is None:
        return 0
    rows = 0

    def counted() -> Iterator[pa.Table]:
        nonlocal rows
        for table in chain([first], tables):
            rows += table.num_rows
            yield table

    place = "" if base.is_whole else f"-{base.place:05d}"
    name = f"part-{base.bucket:05d}{place}.{_SUFFIX[form]}"
    if form is DumpFormat.PARQUET:
        with open_writer(output, name, schema or first.schema, whole=True) as writer:
            for table in counted():
                writer.write(table)
    else:
        with output.open_write(name, whole=True) as stream:
            if form is DumpFormat.CSV:
                stream.write(csv_line(header))
            for lines in rendered(counted()):
                stream.write(lines)
    return rows


def csv_line(values: Iterable[Any]) -> bytes:
    """A line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue().encode()
