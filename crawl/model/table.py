"""What a stored table is: its columns, its key, and how it is rendered as Arrow schema and as Spark
DDL."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TIMESTAMP = pa.timestamp("ms", tz="UTC")
METADATA = pa.map_(pa.string(), pa.string())
OUTLINKS = pa.list_(
    pa.struct(
        [pa.field(name, pa.string(), nullable=False) for name in ("url", "anchor", "rel", "tag")]
    )
)
URLS = pa.list_(pa.string())

SKETCH_BINS = pa.list_(pa.int16())
SKETCH_COUNTS = pa.list_(pa.int64())
"""Of a sketch (crawl/model/sketches.py): its bins, and how many values are in each."""

SPARK_TYPES: dict[pa.DataType, str] = {
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    TIMESTAMP: "TIMESTAMP",
    METADATA: "MAP<STRING, STRING>",
    URLS: "ARRAY<STRING>",
    SKETCH_BINS: "ARRAY<SMALLINT>",
    SKETCH_COUNTS: "ARRAY<BIGINT>",
    OUTLINKS: "ARRAY<STRUCT<{}>>".format(
        ", ".join(f"{name}: STRING NOT NULL" for name in ("url", "anchor", "rel", "tag"))
    ),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column and what it means."""

    name: str
    type: pa.DataType
    about: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One stored table."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    """The columns that name a row and by which the rows of a bucket are sorted; the first is
    the one by which a row is looked up. None where the table is no dataset of buckets."""
    bucket_by: str = ""
    """The column whose value decides the bucket of a row."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [pa.field(column.name, column.type, not column.required) for column in self.columns]
        )

    @property
    def spark_ddl(self) -> str:
        return ", ".join(
            f"{column.name} {SPARK_TYPES[column.type]}" + (" NOT NULL" if column.required else "")
            for column in self.columns
        )
