from __future__ import annotations

import pytest

from crawl.counters import Counters
from crawl.fetcher.filling import ChunkSize, Filling
from crawl.fetcher.journal import Journal
from crawl.storage.folder import Folder

SIZE = ChunkSize(records=5_000, bytes=64 << 20)


def filled(rows: int, size: int) -> Filling:
    notes = Journal(Folder("memory://filling"), 0, "me").begin(Counters())
    return Filling(notes, rows, rows * size)


@pytest.mark.parametrize(
    ("rows", "size", "is_full"),
    [(4_999, 0, False), (5_000, 0, True), (64, (1 << 20) - 1, False), (64, 1 << 20, True)],
)
def test_it_is_full_by_rows_or_by_bytes(rows: int, size: int, is_full: bool) -> None:
    assert filled(rows, size).is_full(SIZE) is is_full


@pytest.mark.parametrize(
    ("rows", "size", "age", "expected"),
    [
        (999, 0, 0.0, False),  # much may come at once and nothing after it
        (1_000, 0, 0.0, True),
        (1_000, 0, 0.2, True),
        (1_000, 0, 0.21, False),
        (31, 1 << 20, 0.1, False),
        (32, 1 << 20, 0.5, True),
        (32, 1 << 20, 0.51, False),
        (5_000, 0, 0.99, True),
        (5_000, 0, 1.0, False),
        (10_000, 0, 1.0, False),
    ],
)
def test_it_will_be_full_soon_at_the_pace_that_it_has(
    rows: int, size: int, age: float, expected: bool
) -> None:
    assert filled(rows, size).will_be_full(SIZE, 1.0, age) is expected
