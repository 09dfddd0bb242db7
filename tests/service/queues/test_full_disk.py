"""A queue whose disk takes nothing for a while."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.errors import StorageError
from crawl.service.patience import Patience
from crawl.service.queues.embedded import EmbeddedQueue
from crawl.service.queues.queue import Entry
from tests.service.events import eventually

LONG_S = 120


class FullDisk(EmbeddedQueue):
    """Takes nothing while it is full."""

    def __init__(self, path: Path, patience: Patience) -> None:
        self.error: Exception | None = None
        super().__init__(path, patience)

    def _commit(self, group: Sequence[Any]) -> Exception | None:
        return self.error or super()._commit(group)


FULL = sqlite3.OperationalError("database or disk is full")


def entry(id: str) -> Entry:
    return Entry(id, f"http://h/{id}", "h", 1, 0, b"")


@pytest.fixture
def patience() -> Patience:
    return Patience(SystemClock())


@pytest.fixture
def queue(tmp_path: Path, patience: Patience) -> Iterator[FullDisk]:
    queue = FullDisk(tmp_path / "queue.sqlite", patience)
    yield queue
    queue.close()


def test_submitters_are_told_at_once(queue: FullDisk, patience: Patience) -> None:
    queue.error = FULL
    with pytest.raises(StorageError, match="disk is full"):
        queue.put([entry("a")]).result(LONG_S)
    with pytest.raises(StorageError, match="disk is full"):
        patience.require_nobody_waits()  # new work is refused without another try
    queue.error = None
    eventually(lambda: not patience.is_waiting)
    assert queue.put([entry("a")]).result(LONG_S) == 1


def test_what_was_taken_on_waits_for_room_and_is_done_in_its_order(
    queue: FullDisk, patience: Patience
) -> None:
    queue.put([entry("a"), entry("b")]).result(LONG_S)
    queue.claim(2, 0, per_key=2)
    queue.error = FULL
    with patience.patience():
        kept: list[Future[Any]] = [
            queue.put([entry("c")]),
            queue.finish(["c", "a"]),
            queue.release("b", 0),
        ]
    with pytest.raises(StorageError, match="disk is full"):  # also while others wait
        queue.put([entry("d")]).result(LONG_S)
    assert not any(each.done() for each in kept) and patience.is_waiting
    with pytest.raises(StorageError, match="disk is full"):
        patience.require_nobody_waits()
    queue.error = None
    assert [each.result(LONG_S) for each in kept] == [1, 2, True]
    eventually(lambda: not patience.is_waiting)
    assert [each.id for each in queue.claim(9, 0, per_key=9)] == ["b"]


def test_at_the_end_nobody_waits(queue: FullDisk, patience: Patience) -> None:
    queue.error = FULL
    with patience.patience():
        kept = queue.finish(["a"])
    patience.give_up()
    with pytest.raises(StorageError, match="disk is full"):
        kept.result(LONG_S)


def test_a_queue_that_is_closed_says_what_it_could_not_store(
    queue: FullDisk, patience: Patience
) -> None:
    queue.error = FULL
    with patience.patience():
        kept = queue.finish(["a"])
    queue.close()
    with pytest.raises(StorageError, match="closed before it was stored|disk is full"):
        kept.result(LONG_S)


def test_what_no_room_mends_is_not_waited_for(queue: FullDisk, patience: Patience) -> None:
    queue.error = sqlite3.DatabaseError("database disk image is malformed")
    with patience.patience(), pytest.raises(StorageError, match="damaged"):
        queue.finish(["a"]).result(LONG_S)
    assert not patience.is_waiting
