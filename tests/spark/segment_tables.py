"""Rows in any table of a segment, for tests that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from crawl.model.table import METADATA, OUTLINKS, TIMESTAMP
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import SEGMENT_TABLES, PartFile, PartManifest, Segment
from tests.phases.made import NOW


def publish_rows(
    segment: Segment, part: str, rows: Sequence[Mapping[str, Any]], group_rows: int = 4
) -> None:
    """Makes these the part's rows, in one file; columns that a row leaves out are filled."""
    schema = SEGMENT_TABLES[part].schema
    filled = [{field.name: _usual(field, row) for field in schema} for row in rows]
    path = attempt_name("part-00000")
    folder = segment.part_folder(part)
    with open_writer(folder, path, schema, group_rows) as writer:
        writer.write(pa.Table.from_pylist(filled, schema=schema))
    file = PartFile(0, path, len(rows), folder.size(path) or 0)
    segment.publish(part, PartManifest((file,), NOW))


def _usual(field: pa.Field[Any], row: Mapping[str, Any]) -> Any:
    if field.name in row:
        return row[field.name]
    usual: dict[Any, Any] = {
        pa.string(): "",
        pa.binary(): b"body",
        pa.bool_(): False,
        TIMESTAMP: NOW,
        METADATA: [("key", "value")],
        OUTLINKS: [{"url": f"{row.get('url')}/next", "anchor": "a", "rel": "", "tag": "a"}],
    }
    return usual.get(field.type, 1)
