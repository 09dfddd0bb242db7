"""Rows of a query become blocks a bounded number at a time; no JVM is needed for that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from crawl.spark import query_blocks
from crawl.spark.expr import send_matching
from crawl.tables.exchange import Received
from crawl.tables.matching import MATCHING
from crawl.tables.slices import RowPlaces

BATCH = 100


def test_a_large_file_is_sent_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_blocks, "_ROWS_AT_ONCE", 1_000)
    read = 0

    def batches(count: int) -> Iterator[pa.RecordBatch]:
        nonlocal read
        for number in range(count):
            read += BATCH
            rows = np.arange(number * BATCH, (number + 1) * BATCH)
            bucket = np.full(BATCH, 3, np.int32)
            yield pa.RecordBatch.from_pydict({"_bucket": bucket, "_row": rows})

    # bucket 3 is two slices, of which the second begins with row 4,000
    starts = np.array([0, 3 << 40, (3 << 40) | 4_000])
    sent: list[tuple[int, bytes]] = []
    ahead = 0
    for block in query_blocks.sent_blocks(partial(send_matching, RowPlaces(starts)), batches(60)):
        assert block.num_rows == 1 and block.schema.types == [pa.int32(), pa.binary()]
        ahead = max(ahead, read - 1_000 * len(sent))
        sent.append((block["destination"][0].as_py(), block["block"][0].as_py()))
    assert ahead <= 1_000, "no more is read than is sent at once"
    found = Received.by_destination(sent)
    numbers = {to: rows.rows(MATCHING)["row"].to_pylist() for to, rows in found.items()}
    assert {to: sorted(rows) for to, rows in numbers.items()} == {  # type: ignore[type-var]
        1: list(range(4_000)),
        2: list(range(2_000)),
    }


def test_nothing_is_sent_of_nothing() -> None:
    places = RowPlaces(np.array([0]))
    empty = pa.RecordBatch.from_pydict({"_bucket": np.zeros(0, np.int32), "_row": np.zeros(0, int)})
    for batches in ([], [empty]):
        assert list(query_blocks.sent_blocks(partial(send_matching, places), batches)) == []
