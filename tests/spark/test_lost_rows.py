"""An exchange whose blocks are lost, and a sender that meets a second fault when it is called
again: what comes out is whole, or an error. The same cases on Spark are in
tests/spark/test_lost_rows_on_spark.py."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crawl.errors import StorageError, UsageError
from crawl.spark import exchange
from crawl.spark.faults import ChangedRows
from crawl.tables.exchange import Outbox, Received, StoredBlocks
from crawl.tables.runner import InProcess, Runner
from tests.spark.lossy_shuffle import (
    SECOND_FAULT,
    LossyRunner,
    LossyShuffle,
    Rows,
    SecondFault,
    workers_here,
)
from tests.tables.exchanging import NUMBERS, numbers, read_all, send_numbers, send_on

TASKS = [[n, n + 1, 3 * n] for n in range(6)]
EXPECTED = {
    SecondFault.LASTING: StorageError,
    SecondFault.USER: UsageError,
    SecondFault.ALWAYS_FEWER: ChangedRows,
}


@pytest.fixture(autouse=True)
def _workers_here() -> Iterator[None]:
    with workers_here():
        yield


@pytest.fixture(params=["with the function", "to each its own"])
def _tasks_travel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "to each its own":
        monkeypatch.setattr(exchange, "_TASK_BYTES_FOR_ALL", 0)


def read_twice(runner: Runner) -> Any:
    sent = runner.exchange(send_numbers, TASKS, 3, "send")
    sent.results()
    return sent.run(read_all, [(2, "two"), (0, "none"), (1, "one")], "read")


def read_at_once(runner: Runner) -> Any:
    sent = runner.exchange(send_numbers, TASKS, 3, "send")
    found = sent.run(read_all, [(2, "two"), (0, "none"), (1, "one")], "read")
    return found, sent.results(), sent.row_counts().tolist()


def read_sent_on(runner: Runner) -> Any:
    first = runner.exchange(send_numbers, TASKS, 3, "send")
    second = first.send(send_on, [(1, "one"), (0, "none"), (2, "two")], 2, "on")
    third = second.send(send_on, [(1, "odd"), (0, "even")], 2, "and on")
    found = third.run(read_all, [(0, "even"), (1, "odd")], "read")
    return found, third.results(), second.results(), first.results()


def send_on_what_was_heard(runner: Runner) -> Any:
    first = runner.exchange(send_numbers, TASKS, 3, "send")
    first.results()
    second = first.send(send_on, [(1, "one"), (0, "none"), (2, "two")], 2, "on")
    second.results()
    return second.run(read_all, [(0, "even"), (1, "odd")], "read")


def read_a_source(runner: Runner) -> Any:
    outbox = Outbox(0)
    outbox.send_all(NUMBERS, numbers([30, 33]), 0)
    source = StoredBlocks(list(outbox.blocks))
    sent = runner.exchange(send_numbers, TASKS, 3, "send", [source])
    sent.results()
    found = sent.run(read_all, [(0, "none")], "read")
    return [sorted(rows) for _, rows, _ in found], sent.row_counts().tolist()


WAYS = [read_twice, read_at_once, read_sent_on, send_on_what_was_heard, read_a_source]


@pytest.mark.usefixtures("_tasks_travel")
@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("way", WAYS)
class TestLostBlocks:
    def test_are_sent_again(self, way: Any, most: int | None) -> None:
        assert way(LossyRunner(None, most)) == way(InProcess())

    def test_are_sent_again_after_a_fault_that_passes(self, way: Any, most: int | None) -> None:
        runner = LossyRunner(SecondFault.PASSING, most)
        assert way(runner) == way(InProcess())
        assert runner.shuffle.met > 0

    @pytest.mark.parametrize("fault", EXPECTED)
    def test_are_told_where_they_cannot_be(
        self, way: Any, most: int | None, fault: SecondFault
    ) -> None:
        runner = LossyRunner(fault, most)
        with pytest.raises(EXPECTED[fault]) as raised:
            way(runner)
        assert runner.shuffle.met > 0
        assert type(raised.value) is EXPECTED[fault]
        if fault is not SecondFault.ALWAYS_FEWER:
            assert str(raised.value) == SECOND_FAULT


@pytest.mark.usefixtures("_tasks_travel")
@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("way", [way for way in WAYS if way is not read_sent_on])
def test_rows_that_somebody_has_heard_of_are_missed(way: Any, most: int | None) -> None:
    """Where nobody has, a sender may change its mind: so it is in the middle of a chain."""
    try:
        found = way(LossyRunner(SecondFault.FEWER_ROWS, most))
    except ChangedRows:
        return
    assert found == way(InProcess())  # read again, and then they were there


def refuse_later(values: list[int], outbox: Outbox) -> int:
    send_numbers(values, outbox)
    if values[0] in (2, 3):
        raise UsageError(f"{values[0]} is refused")
    return 0


def never(name: str, received: Received) -> None:
    raise AssertionError("rows are missing: nobody may work on the others")


@pytest.mark.parametrize("most", [None, 1, 2])
def test_nobody_works_on_what_is_not_whole(most: int | None) -> None:
    """A receiver may delete documents on a server: it is not called at all."""
    for send in (False, True):
        sent = LossyRunner(None, most).exchange(refuse_later, TASKS, 3, "send")
        if send:
            sent = sent.send(send_on, [(1, "one"), (0, "none")], 2, "on")
        with pytest.raises(UsageError, match="^2 is refused$"):
            sent.run(never, [(1, "one"), (0, "none")], "read")


def send_too_far(values: list[int], outbox: Outbox) -> None:
    outbox.send(NUMBERS, numbers(values), np.full(len(values), 3))


def test_rows_for_nobody_are_not_dropped() -> None:
    sent = LossyRunner(None).exchange(send_too_far, TASKS, 3, "send")
    with pytest.raises(IndexError, match="rows for 3, but there are 3"):
        sent.results()


def test_a_sender_that_is_not_heard_of_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = LossyRunner(None)
    sent = runner.exchange(send_numbers, TASKS, 3, "send")
    run = runner.shuffle.run

    def one_less(*arguments: Any) -> list[Any]:
        *found, arrived = run(*arguments)
        arrived.results.pop()
        return [*found, arrived]

    monkeypatch.setattr(runner.shuffle, "run", one_less)
    with pytest.raises(ChangedRows, match="send: 5 of 6 tasks have sent"):
        sent.run(read_all, [(0, "none")], "read")


class UnusedShuffle(LossyShuffle):
    """Nobody reads what it would hold."""

    def run(self, rows: Rows, partitions: list[int], tasks: int, step: str) -> list[Any]:
        raise StorageError("not now")


def size_of_receivers(tasks: int, *, forward: bool) -> int:
    """The bytes of the function that every receiving task unpickles."""
    shuffle = UnusedShuffle(None)
    sent = exchange.exchange_by(shuffle, send_numbers, TASKS, tasks, "send")
    given = [(place, bytes(2_000)) for place in range(tasks)]
    if forward:
        sent.send(_send_nothing, given, 1, "on")
    else:
        with pytest.raises(StorageError, match="not now"):
            sent.run(_read_nothing, given, "read")
    return len(pickle.dumps(shuffle.functions[-1]))


def _read_nothing(task: bytes, received: Received) -> None:
    pass


def _send_nothing(task: bytes, received: Received, outbox: Outbox) -> None:
    pass


@pytest.mark.parametrize("forward", [False, True])
def test_a_receiver_does_not_carry_the_tasks_of_others(forward: bool) -> None:
    few, many = (size_of_receivers(count, forward=forward) for count in (40, 16_000))
    assert few < 5_000
    assert many < few + 20  # the number of destinations has a byte more
    # few that are small may: that takes less time than a way of their own
    assert size_of_receivers(8, forward=forward) < exchange._TASK_BYTES_FOR_ALL + 5_000
