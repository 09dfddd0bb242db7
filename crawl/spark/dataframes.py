"""A crawl's table as a Spark DataFrame: each part is read by a task, and travels as Arrow.

By `mapInArrow` over one row a part, because it needs no connector for the store, and no rows
cross between Python and the JVM one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crawl.model.table import SPARK_TYPES, TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Read = Callable[[Sequence[str], Sequence[tuple[str, str, Any]]], Iterator[pa.Table]]

_MICROSECONDS = pa.timestamp("us", tz="UTC")
"""Spark's timestamps are in microseconds, and it takes no others."""
_PART = "_part"


def dataframe_of(
    spark: SparkSession,
    parts: Sequence[Read],
    schema: pa.Schema,
    conditions: Sequence[tuple[str, str, Any]],
) -> DataFrame:
    """The rows of the parts; columns and conditions are applied where they are read."""
    return _read(spark, parts, schema, conditions).drop(_PART)


def newest_of(
    spark: SparkSession,
    parts: Sequence[Read],
    schema: pa.Schema,
    conditions: Sequence[tuple[str, str, Any]],
    key: str,
) -> DataFrame:
    """The same where of rows with one key only that of the first part counts, and conditions
    are asked of it alone."""
    from pyspark.sql import Window, functions

    rows = _read(spark, parts, schema, ())
    rank = functions.row_number().over(Window.partitionBy(key).orderBy(_PART))
    found = rows.withColumn("_rank", rank).where("_rank = 1").drop("_rank", _PART)
    for condition in conditions:
        found = found.where(_term(*condition))
    return found


def _term(column: str, sign: str, value: Any) -> Column:
    from pyspark.sql import functions

    field = functions.col(column)
    terms: dict[str, Callable[[], Column]] = {
        "=": lambda: field == value,
        "!=": lambda: field != value,
        "<": lambda: field < value,
        "<=": lambda: field <= value,
        ">": lambda: field > value,
        ">=": lambda: field >= value,
        "in": lambda: field.isin(list(value)),
        "is": field.isNull,
        "is not": field.isNotNull,
        "startswith": lambda: field.startswith(value),
    }
    return terms[sign]()


def _read(
    spark: SparkSession,
    parts: Sequence[Read],
    schema: pa.Schema,
    conditions: Sequence[tuple[str, str, Any]],
) -> DataFrame:
    columns = list(schema.names)
    ddl = ", ".join(f"`{name}` {SPARK_TYPES[schema.field(name).type]}" for name in columns)

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_numpy():
                for piece in parts[number](columns, conditions):
                    part = pa.repeat(pa.scalar(number, pa.int64()), piece.num_rows)
                    yield from _for_spark(piece).append_column(_PART, part).to_batches()

    numbered = spark.range(0, len(parts), 1, max(1, len(parts)))
    return numbered.mapInArrow(rows, f"{ddl}, {_PART} BIGINT")


def _for_spark(rows: pa.Table) -> pa.Table:
    fields = [
        field.with_type(_MICROSECONDS) if field.type == TIMESTAMP else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))
