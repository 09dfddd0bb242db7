"""Reads those rows of Parquet files that satisfy conditions, and little else of the files.

A row group is skipped where its statistics rule every row out. Of the others the columns of the
conditions are decoded first, and the wanted ones only where a row satisfies them. Statuses are
names here (`db_fetched`), as everywhere that people look.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.model.status import Status, status_label
from crawl.model.table import Table
from crawl.storage.folder import Folder
from crawl.storage.parquet import StoredTable, open_table, read_groups

Condition = tuple[str, str, Any]
"""A column, one of `OPERATORS`, and a value: a list for `in`, None for `is` and `is not`."""

OPERATORS: dict[str, Callable[[pc.Expression, Any], pc.Expression]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda field, values: field.isin(list(values)),
    "is": lambda field, _: field.is_null(),
    "is not": lambda field, _: field.is_valid(),  # type: ignore[return-value,dict-item]  # the stubs say bool
    "startswith": lambda field, prefix: pc.starts_with(field, pattern=prefix),
}

ROW = "_row"
"""A column that every file has without storing it: the row's number in its bucket or its file."""

_STATUS = "status"
_LABELS = pa.array([status_label(code) for code in range(128)])
_CODES = {label: code for code, label in enumerate(_LABELS.to_pylist())}


def with_status_names(table: Table) -> Table:
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


def scan_file(
    folder: Folder,
    path: str,
    columns: Sequence[str],
    conditions: Sequence[Condition],
    first_row: int = 0,
    size: int | None = None,
) -> Iterator[pa.Table]:
    """These columns of the file's rows for which all conditions hold, a row group at a time;
    `first_row` is the number of its first one, and `size` that of the file where it is known."""
    with open_table(folder, path, size=size) as source:
        for group in range(source.num_row_groups):
            metadata = source.metadata.row_group(group)
            if _may_match(metadata, source.schema_arrow, conditions):
                rows = _matching_rows(source, group, first_row, columns, conditions)
                if rows.num_rows:
                    yield rows
            first_row += metadata.num_rows


def require_condition(condition: object, columns: Iterable[str], table_name: str) -> None:
    """Raises UsageError for what is no condition on a table with these columns."""
    if not isinstance(condition, tuple) or len(condition) != 3:
        raise UsageError(f"{condition!r} is no condition: give (column, operator, value)")
    require_column(condition[0], columns, table_name)
    if condition[1] not in OPERATORS:
        raise UsageError(f"no operator {condition[1]!r}: use one of {', '.join(OPERATORS)}")


def require_column(column: object, columns: Iterable[str], table_name: str) -> None:
    """Raises UsageError where the table has no such column."""
    names = list(columns)
    if column not in names:
        raise UsageError(f"{table_name} has no column {column!r}{did_you_mean(str(column), names)}")


def filter_rows(rows: pa.Table, conditions: Sequence[Condition]) -> pa.Table:
    """The rows for which all conditions hold."""
    if not conditions:
        return rows
    try:
        terms = [OPERATORS[sign](pc.field(column), value) for column, sign, value in conditions]
        return rows.filter(reduce(operator.and_, terms))
    except (pa.ArrowException, TypeError) as error:
        text = " and ".join(f"{column} {sign} {value!r}" for column, sign, value in conditions)
        raise UsageError(f"{text}: {error}") from error


def _matching_rows(
    source: StoredTable,
    group: int,
    first_row: int,
    columns: Sequence[str],
    conditions: Sequence[Condition],
) -> pa.Table:
    tested = list(dict.fromkeys(column for column, _, _ in conditions))
    others = [column for column in columns if column not in tested]
    if not tested:
        return _read(source, group, first_row, others).select(list(columns))
    rows = _read(source, group, first_row, tested)
    number = pa.array(np.arange(rows.num_rows, dtype=np.int32))
    matching = filter_rows(rows.append_column("_number", number), conditions)["_number"]
    mask = np.zeros(rows.num_rows, dtype=np.bool_)
    mask[matching.to_numpy()] = True
    rows = rows.filter(pa.array(mask))
    if others and rows.num_rows:
        more = _read(source, group, first_row, others).filter(pa.array(mask))
        for field in more.schema:
            rows = rows.append_column(field, more[field.name])
    return rows.select(list(columns)) if rows.num_rows else rows


def _read(source: StoredTable, group: int, first_row: int, columns: Sequence[str]) -> pa.Table:
    """These columns of a row group; statuses by name."""
    rows = read_groups(source, [group], [column for column in columns if column != ROW])
    if ROW in columns:
        numbers = np.arange(first_row, first_row + rows.num_rows, dtype=np.int64)
        rows = rows.append_column(pa.field(ROW, pa.int64(), nullable=False), pa.array(numbers))
    place = rows.schema.get_field_index(_STATUS)
    if place < 0 or rows.schema.field(place).type != pa.int8():
        return rows
    labels = _LABELS.take(rows[_STATUS].combine_chunks())
    return rows.set_column(place, pa.field(_STATUS, pa.string(), nullable=False), labels)


def _may_match(
    group: pq.RowGroupMetaData, schema: pa.Schema, conditions: Sequence[Condition]
) -> bool:
    """Whether a row of the group may satisfy every condition, by the statistics."""
    places = {group.column(place).path_in_schema: place for place in range(group.num_columns)}
    for column, sign, value in conditions:
        if column == _STATUS and schema.field(column).type == pa.int8():
            if sign not in ("=", "!=", "in"):
                continue  # the codes' order is not that of the names
            value = [_code(each) for each in value] if sign == "in" else _code(value)
        place = places.get(column)
        statistics = None if place is None else group.column(place).statistics
        if statistics is None:
            continue
        try:
            if _is_ruled_out(statistics, sign, value):
                return False
        except TypeError:
            continue  # values of another type than the column's: the filter says so
    return True


def _is_ruled_out(statistics: pq.Statistics, sign: str, value: Any) -> bool:
    if sign == "is":
        return statistics.null_count == 0  # None where it is not known
    if not statistics.has_min_max:
        return False
    test = _NONE_BETWEEN.get(sign)
    return test is not None and bool(test(statistics.min, statistics.max, value))


_NONE_BETWEEN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "=": lambda least, most, value: value < least or value > most,
    "in": lambda least, most, values: all(each < least or each > most for each in values),
    "<": lambda least, _, value: least >= value,
    "<=": lambda least, _, value: least > value,
    ">": lambda _, most, value: most <= value,
    ">=": lambda _, most, value: most < value,
    "startswith": lambda least, most, value: (
        most < value or (least > value and not least.startswith(value))
    ),
}
"""By the operator of a condition: whether no value from the least to the most satisfies it."""


def _code(label: Any) -> Any:
    """The stored code of a status's name."""
    if not isinstance(label, str):
        return label
    if label in _CODES:
        return _CODES[label]
    labels = (status.label for status in Status)
    raise UsageError(f"no status is called {label!r}{did_you_mean(label, labels)}")
