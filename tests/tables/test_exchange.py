from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import StorageError
from crawl.model.records import to_table
from crawl.model.tables import CRAWLDB
from crawl.tables import exchange
from crawl.tables.exchange import Outbox, Received, RowKind, StoredBlocks
from crawl.tables.runner import InProcess
from tests.phases.made import datum
from tests.tables.exchanging import (
    NUMBERS,
    note_call,
    numbers,
    read_all,
    refuse_seven,
    refuse_to_read,
    send_numbers,
    send_on,
)

TASKS = [[0, 1, 2, 3], [9, 8, 7], [], [4, 4]]


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_arrive_in_the_order_of_the_senders(threads: int) -> None:
    sent = InProcess(threads).exchange(send_numbers, TASKS, 3, "send")
    assert sent.run(read_all, [(2, "two"), (0, "none")], "read") == [
        ("two", [2, 8], ["2", "8"]),
        ("none", [0, 3, 9], ["0"]),
    ]
    assert sent.results() == [4, 3, 0, 2]
    assert sent.row_counts().tolist() == [4, 6, 4]  # with those spelled out


def test_nobody_sends_twice(tmp_path: Path) -> None:
    sent = InProcess().exchange(partial(note_call, str(tmp_path)), TASKS[:2], 3, "send")
    assert list(tmp_path.iterdir()) == []  # nobody wanted anything yet
    first = sent.run(read_all, [(1, "one")], "read")
    assert sent.run(read_all, [(1, "one")], "read") == first
    assert len(list(tmp_path.iterdir())) == 2


def test_rows_are_sent_on() -> None:
    first = InProcess().exchange(send_numbers, TASKS, 3, "send")
    second = first.send(send_on, [(1, "one"), (0, "none")], 2, "send on")
    assert second.run(read_all, [(0, "even"), (1, "odd")], "read") == [
        ("even", [4, 4, 0], []),
        ("odd", [1, 7, 3, 9], []),
    ]
    assert second.results() == ["one sent 4", "none sent 3"]
    assert first.results() == [4, 3, 0, 2]


def test_faults_of_senders_and_receivers_are_raised() -> None:
    with pytest.raises(StorageError, match=r"^seven is damaged$"):
        InProcess().exchange(refuse_seven, TASKS, 3, "send").run(read_all, [(0, "x")], "read")
    with pytest.raises(StorageError, match=r"^x refuses$"):
        InProcess().exchange(send_numbers, TASKS, 3, "send").run(refuse_to_read, [(0, "x")], "r")


def test_a_source_brings_further_rows() -> None:
    outbox = Outbox(0)
    outbox.send_all(NUMBERS, numbers([30]), 0)
    sent = InProcess().exchange(send_numbers, TASKS, 3, "send", [StoredBlocks(list(outbox.blocks))])
    ((_, found, _),) = sent.run(read_all, [(0, "none")], "read")
    assert sorted(found) == [0, 3, 9, 30]


def test_nobody_sends_anything() -> None:
    sent = InProcess().exchange(send_numbers, [], 3, "send")
    assert sent.run(read_all, [(0, "none")], "read") == [("none", [], [])]
    assert sent.row_counts().tolist() == [0, 0, 0]


@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(-(2**63), 2**63 - 1)), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    block_rows=st.integers(1, 9),
)
def test_every_row_arrives_once_where_it_belongs(
    rows: list[tuple[int, int]], cuts: Sequence[int], block_rows: int
) -> None:
    """Whoever sends it, however large the blocks are, and whichever block comes first."""
    bounds = [0, *sorted(cuts), len(rows)]
    blocks: list[tuple[int, bytes]] = []
    counted: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "_BLOCK_ROWS", block_rows)
        for sender, (start, end) in enumerate(pairwise(bounds)):
            outbox = Outbox(sender)
            mine = rows[start:end]
            table = numbers([value for _, value in mine])
            outbox.send(NUMBERS, table, np.array([to for to, _ in mine], dtype=np.int32))
            blocks += outbox.blocks
            for destination, count in outbox.rows.items():
                counted[destination] = counted.get(destination, 0) + count
    for destination in range(7):
        arrived = [block for to, block in reversed(blocks) if to == destination]
        wanted = [value for to, value in rows if to == destination]
        assert Received(arrived).rows(NUMBERS)["n"].to_pylist() == wanted
        assert counted.get(destination, 0) == len(wanted)
    together = Received.by_destination(reversed(blocks))
    assert {to: each.rows(NUMBERS)["n"].to_pylist() for to, each in together.items()} == {
        to: [value for each, value in rows if each == to] for to in {to for to, _ in rows}
    }


def test_records_of_the_crawldb_travel_as_they_are() -> None:
    table = to_table(
        [("http://ä.org/", "ä.org", datum(metadata={"k": "v", "": "x"}, signature=b"\0"))]
    )
    kind = RowKind("records", CRAWLDB.schema)
    outbox = Outbox(3)
    # as a reader may give them: hosts as codes, and notes in the schema
    codes = table["host"].dictionary_encode()
    coded = table.set_column(1, pa.field("host", codes.type, False), codes)
    outbox.send_all(kind, coded.replace_schema_metadata({b"note": b"x"}), 0)
    found = Received([block for _, block in outbox.blocks]).rows(kind)
    assert found.equals(table) and found.schema.equals(CRAWLDB.schema)
