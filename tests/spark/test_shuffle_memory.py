"""What a sender of many blocks has in memory, counted by Python's own allocator: neither the number
nor the size of its blocks matters. `scripts/bench/exchange_memory.py` measures whole processes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from crawl.spark import shuffle
from crawl.spark.exchange_worker import Partitions, Sender
from crawl.spark.faults import Attempt
from crawl.tables import exchange
from crawl.tables.exchange import Block as SentBlock
from crawl.tables.exchange import Outbox, Received, RowKind, plain_size
from tests.spark.lossy_shuffle import workers_here

TEXTS = RowKind("texts", pa.schema([pa.field("text", pa.binary(), False)]))
IN_MEMORY, BLOCK = 1 << 20, 1 << 18


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(exchange, "_MAX_IN_MEMORY", IN_MEMORY)
    monkeypatch.setattr(exchange, "_BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(shuffle, "_BATCH_BYTES", BLOCK)
    with workers_here():
        yield


def texts(rows: int, size: int, seed: int = 0) -> pa.Table:
    """Texts that cannot be compressed."""
    rng = np.random.default_rng(seed)
    return pa.table([[rng.bytes(size) for _ in range(rows)]], schema=TEXTS.schema)


def send_texts(given: tuple[int, Outbox]) -> int:
    blocks, outbox = given
    for place in range(blocks):
        outbox.send_all(TEXTS, texts(60, 4_000, place), place % 7)
    return blocks


def peak_of(blocks: int) -> int:
    """Bytes of Python's objects at most, while a sender's blocks go to the JVM."""
    sender = Sender(Attempt(lambda given: send_texts(given)), Partitions(7, 7))
    tracemalloc.start()
    try:
        total = sum(len(data) for data in shuffle._keyed_batches(0, sender.send(0, blocks)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total > blocks * 200_000
    return peak


def test_a_sender_needs_no_more_memory_for_more_blocks() -> None:
    few, many = peak_of(10), peak_of(100)
    assert many < IN_MEMORY + 12 * BLOCK  # 24 MB were sent
    assert many < few + 2 * BLOCK


def test_small_blocks_are_handed_on_together() -> None:
    placed = [(n % 2, (n % 2, bytes(10))) for n in range(1_000)]
    assert len(list(shuffle._keyed_batches(0, placed))) == 4


def blocks_of(rows: pa.Table) -> list[SentBlock]:
    outbox = Outbox(0)
    outbox.send(TEXTS, rows, np.zeros(rows.num_rows, dtype=np.int32))
    assert outbox.rows == {0: rows.num_rows}
    return list(outbox.blocks)


@pytest.mark.parametrize("sizes", [[3_000] * 400, [10] * 500 + [300_000] * 3 + [10] * 500])
def test_blocks_are_bounded_however_long_their_rows_are(sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    rows = pa.table([[rng.bytes(size) for size in sizes]], schema=TEXTS.schema)
    blocks = blocks_of(rows)
    head = exchange._HEAD.size + len(TEXTS.name)
    one_row = max(sizes) + 10_000
    assert max(plain_size(block[head:]) for _, block in blocks) < max(3 * BLOCK, one_row)
    found = Received([block for _, block in reversed(blocks)])
    assert found.rows(TEXTS).equals(rows)
    batches = list(found.batches(TEXTS))
    assert pa.concat_tables(batches).equals(rows)
    assert max(batch.nbytes for batch in batches) < 2 * max(3 * BLOCK, one_row)


def test_what_was_drained_is_forgotten() -> None:
    outbox = Outbox(0)
    outbox.send_all(TEXTS, texts(600, 4_000), 3)
    kept = list(outbox.blocks)
    assert list(outbox.drain()) == kept
    assert list(outbox.blocks) == []


def test_many_small_blocks_are_gathered_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is counted once, not once for every other that waits with it."""
    outbox = Outbox(0)
    for place in range(300):
        outbox.send_all(TEXTS, texts(1, 8, place), 0)
    counted = 0

    def count(body: bytes | memoryview) -> int:
        nonlocal counted
        counted += 1
        return plain_size(body)

    monkeypatch.setattr(exchange, "plain_size", count)
    (batch,) = Received([block for _, block in outbox.blocks]).batches(TEXTS)
    assert (batch.num_rows, counted) == (300, 300)
