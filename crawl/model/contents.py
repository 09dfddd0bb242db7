"""Between Content and Arrow: the one place that knows both forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, cast

import pyarrow as pa

from crawl.model.builders import BytesBuilder, MapBuilder, columns
from crawl.model.content import Content
from crawl.model.records import dicts
from crawl.model.tables import CONTENT


class ContentTableBuilder:
    """A content table that grows; with room for so many bytes of bodies at first."""

    def __init__(self, room: int = 0) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._bodies = BytesBuilder(room)
        self._headers = MapBuilder()
        self._metadata = MapBuilder()

    @property
    def room(self) -> int:
        return self._bodies.room

    def add(self, content: Content, metadata: Mapping[str, str]) -> None:
        """With these metadata, which need not be its own."""
        self._bodies.add(content.body)  # first: there may be no memory for it
        self._rows.append(_plain_values(content))
        self._headers.add(content.headers)
        self._metadata.add(metadata)

    def table(self) -> pa.Table:
        plain = columns(self._rows, [field.type for field in _PLAIN])
        arrays: dict[str, pa.Array[Any] | pa.ChunkedArray[Any]]
        arrays = {field.name: array for field, array in zip(_PLAIN, plain, strict=True)}
        arrays["content"] = self._bodies.array()
        arrays["headers"] = self._headers.array()
        arrays["metadata"] = self._metadata.array()
        return pa.Table.from_arrays([arrays[name] for name in CONTENT.names], schema=_SCHEMA)


_SCHEMA = CONTENT.schema
_PLAIN = [field for field in _SCHEMA if field.name not in ("content", "headers", "metadata")]
_plain_values = attrgetter(*(field.name for field in _PLAIN))


def content_table(contents: Iterable[Content]) -> pa.Table:
    """A content table."""
    builder = ContentTableBuilder()
    for content in contents:
        builder.add(content, content.metadata)
    return builder.table()


def contents_of(table: pa.Table) -> Iterator[Content]:
    """The rows of a content table, which has all columns."""
    for batch in table.to_batches():
        rows = zip(
            *(
                dicts(cast("pa.MapArray[Any, Any]", batch[name]))
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
