"""Reads rows of a crawl's Parquet files by column and condition: a snapshot of the CrawlDb,
a table of a segment, and the pages of all segments together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawl.buckets.stats import status_label
from crawl.errors import UsageError
from crawl.model.status import Status
from crawl.model.tables import PARSE_DATA as PARSE_DATA_TABLE
from crawl.model.tables import PARSE_TEXT as PARSE_TEXT_TABLE
from crawl.model.tables import Column, Table
from crawl.nearest import nearest
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table, read_groups
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT, Segment

Condition = tuple[str, str, Any]
"""A column, one of `OPERATORS`, and a value or, for `in`, a list of values."""

OPERATORS: dict[str, Callable[[pc.Expression, Any], pc.Expression]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda field, values: field.isin(list(values)),
}

_LABELS = pa.array([status_label(code) for code in range(128)])
_STATUS = "status"


def shown(table: Table) -> Table:
    """The table as it is read here: statuses are names."""
    return Table(
        table.name,
        tuple(
            replace(column, type=pa.string())
            if column.name == _STATUS and column.type == pa.int8()
            else column
            for column in table.columns
        ),
    )


PAGES = Table(
    "pages",
    (
        *(
            column
            for column in PARSE_DATA_TABLE.columns
            if column.name not in ("status", "message")
        ),
        *(each for each in PARSE_TEXT_TABLE.columns if each.name != "url"),
        Column("segment", pa.string(), "the segment that the page was fetched in"),
    ),
)
"""Every page that was parsed, as its newest fetch has it."""


def rows_of_files(
    files: Iterable[tuple[Folder, str]],
    columns: Sequence[str],
    conditions: Sequence[Condition],
) -> Iterator[pa.Table]:
    """The wanted rows of these files, a row group at a time."""
    for folder, path in files:
        with open_table(folder, path) as source:
            for group in range(source.num_row_groups):
                if _may_hold(source.metadata.row_group(group), source.schema_arrow, conditions):
                    wanted = list(dict.fromkeys([*columns, *(each[0] for each in conditions)]))
                    rows = _with_labels(read_groups(source, [group], wanted))
                    yield filtered(rows, conditions).select(columns)


def pages_of_segment(
    segment: Segment, columns: Sequence[str], conditions: Sequence[Condition]
) -> Iterator[pa.Table]:
    """The parsed pages of one segment."""
    for rows in _pages(segment, {*columns, *(each[0] for each in conditions)}):
        yield filtered(rows, conditions).select(columns)


def first_of_each(pieces: Iterable[pa.Table], column: str) -> Iterator[pa.Table]:
    """The rows whose value in that column was not met in a row before."""
    met: set[int] = set()
    for rows in pieces:
        is_new = []
        for value in rows[column].to_pylist():
            number = hash(value)
            is_new.append(number not in met)
            met.add(number)
        yield rows.filter(pa.array(is_new, pa.bool_()))


def _pages(segment: Segment, wanted: set[str]) -> Iterator[pa.Table]:
    """The parsed pages of a segment with all wanted columns."""
    data_manifest, text_manifest = segment.manifest(PARSE_DATA), segment.manifest(PARSE_TEXT)
    if data_manifest is None or text_manifest is None:
        return
    data_columns = [name for name in PARSE_DATA_TABLE.names if name in wanted | {"url", "status"}]
    text_columns = [name for name in PARSE_TEXT_TABLE.names if name in wanted - {"url"}]
    texts = {file.part: file for file in text_manifest.files}
    for file in data_manifest.files:
        with open_table(segment.part_folder(PARSE_DATA), file.path) as source:
            data = source.read(data_columns, use_threads=False)
        if text_columns:
            with open_table(segment.part_folder(PARSE_TEXT), texts[file.part].path) as source:
                data = _beside(data, source.read(["url", *text_columns], use_threads=False))
        rows = data.filter(pc.starts_with(data["status"], "success"))
        name = pa.array([segment.name] * rows.num_rows, pa.string())
        yield rows.drop_columns(["status"]).append_column("segment", name)


def _beside(data: pa.Table, texts: pa.Table) -> pa.Table:
    """The columns of both tables; their rows are written in one order, and joined by URL if
    they should not be."""
    if not data["url"].equals(texts["url"]):
        places = pc.index_in(data["url"], texts["url"].combine_chunks())
        texts = texts.take(places)
    for name in texts.column_names:
        if name != "url":
            data = data.append_column(name, texts[name])
    return data


def _with_labels(rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index(_STATUS)
    if place < 0 or rows.schema.field(place).type != pa.int8():
        return rows
    return rows.set_column(place, _STATUS, _LABELS.take(rows[_STATUS].combine_chunks()))


def filtered(rows: pa.Table, conditions: Sequence[Condition]) -> pa.Table:
    """The rows for which all conditions hold."""
    if not conditions:
        return rows
    terms = [OPERATORS[sign](pc.field(column), value) for column, sign, value in conditions]
    try:
        return rows.filter(reduce(operator.and_, terms))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        wanted = " and ".join(f"{column} {sign} {value!r}" for column, sign, value in conditions)
        raise UsageError(f"{wanted}: {error}") from error


def _may_hold(
    group: pq.RowGroupMetaData, schema: pa.Schema, conditions: Sequence[Condition]
) -> bool:
    """Whether a row of the group may satisfy every condition, by the statistics."""
    places = {group.column(place).path_in_schema: place for place in range(group.num_columns)}
    for column, sign, value in conditions:
        place = places.get(column)
        if place is None:
            continue
        statistics = group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            continue
        if column == _STATUS and schema.field(column).type == pa.int8():
            value = _code(value)
        try:
            if _is_ruled_out(statistics.min, statistics.max, sign, value):
                return False
        except TypeError:
            continue  # values of another type than the column's: the filter says so
    return True


def _is_ruled_out(least: Any, most: Any, sign: str, value: Any) -> bool:
    match sign:
        case "=":
            return bool(value < least or value > most)
        case "<":
            return bool(least >= value)
        case "<=":
            return bool(least > value)
        case ">":
            return bool(most <= value)
        case ">=":
            return bool(most < value)
    return False


def _code(label: Any) -> Any:
    """The stored code of a status's name."""
    if not isinstance(label, str):
        return label
    try:
        return int(Status.of_label(label))
    except ValueError:
        known = (status.label for status in Status)
        raise UsageError(f"no status is called {label!r}{nearest(label, known)}") from None
