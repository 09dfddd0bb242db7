"""Blocks of an exchange that a Spark query makes: its rows come as Arrow batches, a bounded number
at a time, and leave as blocks; none is ever a Python object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from crawl.model.arrow import optional_schema
from crawl.tables.exchange import Block, Outbox

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, Row

Send = Callable[[pa.Table, Outbox], None]
"""Sends some rows of a query to their destinations."""

_COLUMNS = "destination INT, block BINARY"
_SCHEMA = optional_schema({"destination": pa.int32(), "block": pa.binary()})
_ROWS_AT_ONCE = 1 << 18
"""Rows of a query that are sent together: fewer would be blocks of a few rows each."""


def blocks_of(query: DataFrame, send: Send) -> RDD[Block]:
    """The blocks of all rows of the query, which is planned here and run where they are wanted."""
    return query.mapInArrow(partial(sent_blocks, send), _COLUMNS).rdd.map(_block)


def sent_blocks(send: Send, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The blocks of a task's rows, each as soon as there is enough to send."""
    for rows in _gathered(batches):
        outbox = Outbox(0)  # whoever receives them asks for no order
        send(rows, outbox)
        for destination, block in outbox.blocks:
            yield pa.record_batch([[destination], [block]], schema=_SCHEMA)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if count:
        yield pa.Table.from_batches(waiting)


def _block(row: Row) -> Block:
    return row[0], bytes(row[1])
