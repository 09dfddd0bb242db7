"""Tasks that send rows to each other: the same for every Runner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from crawl.errors import NoSnapshot
from crawl.model.arrow import strings
from crawl.tables.exchange import Outbox, Received, RowKind

NUMBERS = RowKind("numbers", pa.schema([pa.field("n", pa.int64(), False)]))
WORDS = RowKind(
    "words",
    pa.schema([pa.field("n", pa.int64(), False), *pa.schema([pa.field("word", pa.string())])]),
)


def numbers(values: list[int]) -> pa.Table:
    return pa.table([pa.array(values, pa.int64())], schema=NUMBERS.schema)


def send_numbers(values: list[int], outbox: Outbox) -> int:
    """Numbers go to their remainder by 3; even ones are spelled out as well."""
    outbox.send(NUMBERS, numbers(values), np.array(values, dtype=np.int64) % 3)
    even = [n for n in values if n % 2 == 0]
    words = pa.table([even, [str(n) for n in even]], schema=WORDS.schema)
    outbox.send(WORDS, words, np.array(even, dtype=np.int64) % 3)
    return len(values)


def read_all(name: str, received: Received) -> tuple[str, list[int], list[str]]:
    return (
        name,
        received.rows(NUMBERS)["n"].to_numpy().tolist(),
        strings(received.rows(WORDS)["word"]),
    )


def send_on(name: str, received: Received, outbox: Outbox) -> str:
    """To where odd and even numbers meet."""
    rows = received.rows(NUMBERS)
    outbox.send(NUMBERS, rows, rows["n"].to_numpy() % 2)
    return f"{name} sent {rows.num_rows}"


def refuse_seven(values: list[int], outbox: Outbox) -> int:
    count = send_numbers(values, outbox)
    if 7 in values:
        raise NoSnapshot("seven is damaged")  # which is not tried again: that takes seconds
    return count


def refuse_to_read(name: str, received: Received) -> str:
    raise NoSnapshot(f"{name} refuses")


def note_call(folder: str, values: list[int], outbox: Outbox) -> int:
    """Sends, and leaves a file for every call."""
    place = Path(folder)
    (place / f"call-{len(list(place.iterdir()))}-{values[0]}").touch()
    return send_numbers(values, outbox)
