"""A crawl's table as a Spark DataFrame: each part is read by a task, and travels as Arrow.

By `mapInArrow` over one row a part, because it needs no connector for the store, and no rows
cross between Python and the JVM one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.errors import StorageError
from crawl.model.arrow import as_array
from crawl.model.table import SPARK_TYPES, TIMESTAMP
from crawl.storage.scan import OPERATORS
from crawl.urls.columns import column_bytes
from crawl.urls.text_hashes import row_hashes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Read = Callable[[Sequence[str], Sequence[tuple[str, str, Any]]], Iterator[pa.Table]]

Numbers = npt.NDArray[np.int64]

_MICROSECONDS = pa.timestamp("us", tz="UTC")
"""Spark's timestamps are in microseconds, and it takes no others."""
_PART, _ROW, _CHECK = "_part", "_row", "_check"
_WRITTEN_ANEW = "a segment was parsed anew while its pages were read: read them again"


def dataframe_of(
    spark: SparkSession,
    parts: Sequence[Read],
    schema: pa.Schema,
    conditions: Sequence[tuple[str, str, Any]],
) -> DataFrame:
    """The rows of the parts; columns and conditions are applied where they are read."""
    columns = list(schema.names)

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(numbers):
            for piece in parts[number](columns, conditions):
                yield from _for_spark(piece).to_batches()

    return _numbered(spark, parts).mapInArrow(rows, _ddl(schema))


def newest_of(
    spark: SparkSession,
    parts: Sequence[Read],
    schema: pa.Schema,
    conditions: Sequence[tuple[str, str, Any]],
    key: str,
) -> DataFrame:
    """The same where of rows with one key only that of the first part counts, and conditions
    are asked of it alone.

    Keys and places alone are exchanged to find these rows; then they are read where they are, so
    that no text is sent anywhere, and none read that is out of date.
    """
    from pyspark.sql import functions

    first = functions.min(functions.struct(_PART, _ROW, _CHECK)).alias("_first")
    places = _places(spark, parts, key).groupBy(key).agg(first).select("_first.*")
    by_part = places.repartition(max(1, len(parts)), _PART).sortWithinPartitions(_PART, _ROW)
    columns = list(schema.names)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, places, checks in _by_part(batches):
            for piece in rows_at(parts[number], columns, key, places, checks):
                yield from _for_spark(piece).to_batches()

    newest = by_part.mapInArrow(rows, _ddl(schema))
    return reduce(lambda frame, condition: frame.where(_term(*condition)), conditions, newest)


def _places(spark: SparkSession, parts: Sequence[Read], key: str) -> DataFrame:
    """Of every row its key, its part, its number there, and what the key is known by."""

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(numbers):
            first = 0
            for piece in parts[number]([key], ()):
                count = piece.num_rows
                part = pa.repeat(pa.scalar(number, pa.int64()), count)
                row = pa.array(np.arange(first, first + count))
                check = pa.array(_checks(piece[key]))
                columns = [piece[key].combine_chunks(), part, row, check]
                yield from pa.table(columns, names=[key, _PART, _ROW, _CHECK]).to_batches()
                first += count

    ddl = f"`{key}` STRING, {_PART} BIGINT, {_ROW} BIGINT, {_CHECK} BIGINT"
    return _numbered(spark, parts).mapInArrow(rows, ddl)


def rows_at(
    part: Read, columns: Sequence[str], key: str, rows: Numbers, checks: Numbers
) -> Iterator[pa.Table]:
    """The rows of a part with these rising numbers, piece by piece. Raises StorageError where
    they are not the ones whose keys were checked: somebody has written the part anew."""
    first = 0
    for piece in part(list(dict.fromkeys([key, *columns])), ()):
        begin, end = np.searchsorted(rows, [first, first + piece.num_rows])
        if begin < end:
            wanted_rows = piece.take(rows[begin:end] - first)
            if not np.array_equal(_checks(wanted_rows[key]), checks[begin:end]):
                raise StorageError(_WRITTEN_ANEW)
            yield wanted_rows.select(list(columns))
        first += piece.num_rows
    if len(rows) and rows[-1] >= first:
        raise StorageError(_WRITTEN_ANEW)


def _by_part(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Numbers, Numbers]]:
    """Rows sorted by part, those of one part together: its number, their rows and checks."""
    parts: list[Numbers] = [np.zeros(0, np.int64)]
    rows, checks = list(parts), list(parts)
    for batch in batches:
        for gathered, name in ((parts, _PART), (rows, _ROW), (checks, _CHECK)):
            gathered.append(batch.column(name).to_numpy())
    part, row, check = (np.concatenate(each) for each in (parts, rows, checks))
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(part)]):
        yield int(part[start]), row[start:end], check[start:end]


def _checks(keys: pa.ChunkedArray[Any]) -> Numbers:
    """Numbers by which keys are known again."""
    return row_hashes(column_bytes(as_array(keys))).view(np.int64)


def _term(column: str, sign: str, value: Any) -> Column:
    from pyspark.sql import functions

    field = functions.col(column)
    match sign:
        case "in":
            return field.isin(list(value))
        case "is":
            return field.isNull()
        case "is not":
            return field.isNotNull()
        case "startswith":
            return field.startswith(value)
    compare: Any = OPERATORS[sign]  # Python's own, of any two values
    return cast("Column", compare(field, value))


def _numbered(spark: SparkSession, parts: Sequence[Read]) -> DataFrame:
    """A row with the number of each part, each in a task of its own."""
    return spark.range(0, len(parts), 1, max(1, len(parts)))


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_numpy().tolist()


def _ddl(schema: pa.Schema) -> str:
    return ", ".join(f"`{field.name}` {SPARK_TYPES[field.type]}" for field in schema)


def _for_spark(rows: pa.Table) -> pa.Table:
    fields = [
        field.with_type(_MICROSECONDS) if field.type == TIMESTAMP else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))
