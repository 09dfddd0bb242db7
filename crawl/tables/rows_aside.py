"""Rows that a task puts aside on the local disk, so that it need not hold them all."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from crawl.tables.exchange import packed, unpacked
from crawl.tables.spill import Spill, SpilledBytes

_WAITING_BYTES = 1 << 19
"""Of rows that wait to be put aside."""


class RowsAside:
    """Rows that are read again later: a few wait in memory, the others are put aside."""

    def __init__(self, schema: pa.Schema, spill: Spill) -> None:
        self._schema = schema
        self._spill = spill
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._blocks: list[SpilledBytes] = []

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes > _WAITING_BYTES:
            self.put_aside()

    def put_aside(self) -> None:
        if self._waiting:
            block = packed(self._schema, pa.concat_tables(self._waiting))
            self._blocks.append(self._spill.write(block))
            self._waiting, self._waiting_bytes = [], 0

    def tables(self) -> Iterator[pa.Table]:
        for block in self._blocks:
            yield unpacked(self._schema, block.read())
