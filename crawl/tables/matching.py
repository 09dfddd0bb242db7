"""The rows of a slice that a condition (`--expr`) holds for, on their way to its task."""

from __future__ import annotations

import pyarrow as pa

from crawl.tables.exchange import RowKind

MATCHING = RowKind("matching", pa.schema([pa.field("row", pa.int32(), False)]))
