"""Between Content and Arrow: the one place that knows both forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.model.content import Content
from crawl.model.records import dicts, map_column
from crawl.model.tables import CONTENT


def content_table(
    contents: Sequence[Content], metadata: Sequence[Mapping[str, str]] | None = None
) -> pa.Table:
    """A content table; with these metadata, where they are not the contents' own."""
    if metadata is None:
        metadata = [each.metadata for each in contents]
    columns: dict[str, list[Any] | pa.Array] = {
        "url": [each.url for each in contents],
        "content": _binary([each.body for each in contents]),
        "content_type": [each.content_type for each in contents],
        "code": [each.code for each in contents],
        "fetch_time": [each.fetch_time for each in contents],
        "ip": [each.ip for each in contents],
        "truncated": [each.truncated for each in contents],
        "version": [each.version for each in contents],
        "cipher": [each.cipher for each in contents],
        "headers": map_column([each.headers for each in contents]),
        "status": [each.status for each in contents],
        "metadata": map_column(metadata),
        "request_headers": _binary([each.request_headers for each in contents]),
        "response_headers": _binary([each.response_headers for each in contents]),
    }
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns.values(), CONTENT.schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=CONTENT.schema)


def contents_of(table: pa.Table) -> Iterator[Content]:
    """The rows of a content table, which has all columns."""
    for batch in table.to_batches():
        rows = zip(
            *(
                dicts(batch[name])
                if pa.types.is_map(batch[name].type)
                else (
                    batch[name].cast(pa.int64()) if name == "fetch_time" else batch[name]
                ).to_pylist()
                for name in CONTENT.names
            ),
            strict=True,
        )
        for row in rows:
            yield Content(**dict(zip(_FIELDS, row, strict=True)))


_FIELDS = ["body" if name == "content" else name for name in CONTENT.names]


def _binary(values: list[bytes]) -> pa.Array:
    """Each byte is copied once; Arrow's own builder copies again whenever it grows."""
    ends = np.cumsum([0, *map(len, values)])
    if ends[-1] > _MOST_BYTES:
        return pa.array(values, pa.binary())
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


_MOST_BYTES = 2**31 - 1
"""What a binary column can address."""
