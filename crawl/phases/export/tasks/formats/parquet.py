"""Records as Parquet: a column a field, `quality` a struct."""

from __future__ import annotations

from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from crawl.phases.export.tasks.record import SCHEMA, Record

_REPEATED = ["host", "language", "change", "mime_type", "segment", "text_kind"]
"""Columns that are worth a dictionary."""
_GROUP_ROWS = 2_000
_GROUP_BYTES = 32 << 20
"""Of text, in one row group."""


class ParquetSink:
    """Row groups that are bounded by rows and by text."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema = SCHEMA) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(
            cast("Any", stream),
            schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=cast("Any", _REPEATED),
        )
        self._rows: list[Record] = []
        self._size = 0

    def write(self, record: Record) -> None:
        self._rows.append(record)
        self._size += len(record["text"])
        if len(self._rows) >= _GROUP_ROWS or self._size > _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = [pa.array(_values(self._rows, field), field.type) for field in self._schema]
            self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        self._rows, self._size = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _values(rows: list[Record], field: pa.Field[Any]) -> list[Any]:
    values = [row.get(field.name) for row in rows]
    if not pa.types.is_map(field.type):
        return values
    return [None if value is None else list(value.items()) for value in values]
