from __future__ import annotations

import pytest

from crawl.counters import Counters
from crawl.fetcher.output.journal import Journal
from crawl.fetcher.output.open_chunk import ChunkSize, OpenChunk
from crawl.storage.folder import Folder

SIZE = ChunkSize(records=5_000, bytes=64 << 20)


def filled(rows: int, size: int) -> OpenChunk:
    notes = Journal(Folder("memory://filling"), 0, "me").begin(Counters())
    return OpenChunk(notes, rows, rows * size)


@pytest.mark.parametrize(
    ("rows", "size", "is_full"),
    [(4_999, 0, False), (5_000, 0, True), (64, (1 << 20) - 1, False), (64, 1 << 20, True)],
)
def test_it_is_full_by_rows_or_by_bytes(rows: int, size: int, is_full: bool) -> None:
    assert filled(rows, size).is_full(SIZE) is is_full


@pytest.mark.parametrize(
    ("rows", "size", "age", "expected"),
    [
        (999, 0, 0.0, False),  # what comes at once may be all that comes
        (1_000, 0, 0.0, True),
        (1_000, 0, 0.5, True),
        (1_000, 0, 0.51, False),
        (31, 1 << 20, 0.1, False),
        (32, 1 << 20, 0.5, True),
        (32, 1 << 20, 0.51, False),
        (3_999, 0, 2.0, False),
        (4_000, 0, 2.0, True),
        (128, 1 << 20, 2.0, True),
    ],
)
def test_it_is_quick_by_the_pace_that_it_has(
    rows: int, size: int, age: float, expected: bool
) -> None:
    assert filled(rows, size).is_quick(age) is expected
