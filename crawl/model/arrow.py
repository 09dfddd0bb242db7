"""Arrow's functions with the types that they have for columns of our tables.

pyarrow's stubs tell neither that a chunk is an array nor that a required column has no null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


def first_chunk(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """The one chunk of a column that has only one."""
    return cast("pa.Array[Any]", column.chunk(0))


def as_array(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """The column in one piece."""
    return column.combine_chunks()


def required_schema(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    """A schema of columns that have no null."""
    return pa.schema([pa.field(name, kind, False) for name, kind in columns.items()])


def optional_schema(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    """A schema of columns that may have nulls."""
    return pa.schema(columns)


def with_column(rows: pa.Table, name: str, column: pa.Array[Any]) -> pa.Table:
    """The rows with another column of this name, of the same type."""
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), column)


def with_all_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows as the schema has them, without metadata: a column that was not there yet when they
    were written is null."""
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def strings(column: Column) -> list[str]:
    """The values of a column of text that has no null."""
    return cast("list[str]", column.to_pylist())


def fill_null(column: Column, value: str | int | bool) -> pa.Array[Any]:
    """The column with a value in place of nulls."""
    filled: Any = pc.fill_null(cast("Any", column), value)
    return cast("pa.Array[Any]", filled)


def equals(column: Column, value: str | int) -> pa.BooleanArray:
    """Whether each value is that one; null for null."""
    return pc.equal(column, pa.scalar(value))


def places_in(values: Column, among: pa.Array[Any]) -> npt.NDArray[np.int64]:
    """Where each value is among others; -1 where it is not."""
    places = fill_null(pc.index_in(cast("Any", values), value_set=among), -1)
    return places.to_numpy(zero_copy_only=False).astype(np.int64)


def count_true(column: Column) -> int:
    """How many values of a boolean column are true."""
    return int(np.count_nonzero(as_mask(column)))


def as_mask(column: Column) -> npt.NDArray[np.bool_]:
    """A boolean column as numpy's; false for null."""
    mask: npt.NDArray[np.bool_] = fill_null(column, False).to_numpy(zero_copy_only=False)
    return mask
