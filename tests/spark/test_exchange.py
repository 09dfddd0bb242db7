"""What the exchange does in memory (tests/tables/test_exchange.py), Spark's shuffle does too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crawl.errors import CrawlError, StorageError, UsageError
from crawl.model.costs import EngineCosts
from crawl.spark import exchange, shuffle
from crawl.spark.exchange import RddSource
from crawl.spark.tasks import SparkRunner, TaskError
from crawl.tables.exchange import Block, Outbox, Received
from crawl.tables.runner import InProcess, Runner
from crawl.telemetry.costs import cost_account
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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TASKS = [[n, n + 1, 3 * n] for n in range(12)]


@pytest.fixture
def runner(spark: SparkSession) -> SparkRunner:
    return SparkRunner(spark, quiet=True)


def everything(runner: Runner, rows: int | None = None) -> list[Any]:
    """All that an exchange can be asked for."""
    first = runner.exchange(send_numbers, TASKS, 3, "t: send", rows=rows)
    read = first.run(read_all, [(2, "two"), (0, "none")], "t: read")
    again = first.run(read_all, [(1, "one")], "t: read")
    second = first.send(send_on, [(1, "one"), (0, "none")], 2, "t: send on")
    third = second.send(send_on, [(1, "odd")], 2, "t: and on")
    return [
        *(read, again),
        third.run(read_all, [(1, "odd"), (0, "nothing")], "t: read"),
        *(third.results(), second.results(), first.results()),
        *(each.row_counts().tolist() for each in (first, second, third)),
        runner.exchange(send_numbers, TASKS, 3, "t: send").results(),
        runner.exchange(send_numbers, [], 2, "t: nobody").run(read_all, [(1, "x")], "t: read"),
    ]


def test_as_in_memory(runner: SparkRunner) -> None:
    assert everything(runner) == everything(InProcess())


@pytest.mark.parametrize("rows", [0, 100, 10**9])
def test_as_in_memory_however_many_rows_there_are(runner: SparkRunner, rows: int) -> None:
    assert everything(runner, rows) == everything(InProcess())


@pytest.mark.parametrize("rows", [None, 0])
def test_as_in_memory_however_tasks_travel(
    runner: SparkRunner, rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each as a block to its destination, as many or large ones do."""
    monkeypatch.setattr(exchange, "_TASK_BYTES_FOR_ALL", 0)
    monkeypatch.setattr(shuffle, "_SLICE_BYTES", 20)
    assert everything(runner, rows) == everything(InProcess())


def send_far(values: list[int], outbox: Outbox) -> int:
    outbox.send(NUMBERS, numbers(values), np.array(values, dtype=np.int64) % 40)
    return len(values)


def send_further(name: str, received: Received, outbox: Outbox) -> str:
    rows = received.rows(NUMBERS)
    outbox.send(NUMBERS, rows, rows["n"].to_numpy() % 30)
    return name


def far(runner: Runner, rows: int | None) -> tuple[list[Any], EngineCosts]:
    """From 12 tasks to 40 destinations and on to 30, and what it costs."""
    with cost_account() as account:
        first = runner.exchange(send_far, TASKS, 40, "t: send", rows=rows)
        second = first.send(
            send_further, [(n, f"from {n}") for n in range(39, -1, -1)], 30, "t: on"
        )
        read = second.run(read_all, [(n, f"at {n}") for n in (17, 2, *range(18, 30), 5)], "t: read")
        found = [read, second.results(), first.results(), second.row_counts().tolist()]
    return found, account.total


def test_few_rows_are_few_tasks(spark: SparkSession, runner: SparkRunner) -> None:
    cores = spark.sparkContext.defaultParallelism
    expected, _ = far(InProcess(), None)
    each_alone = 12 + (40 + 1) + (15 + 1)
    for rows, tasks in (
        (None, each_alone),
        (100, cores + (cores + 1) + (cores + 1)),
        (5 * 50_000, 5 + (5 + 1) + (5 + 1)),
        (10**9, each_alone),
    ):
        found, costs = far(runner, rows)
        assert found == expected
        assert (costs.jobs, costs.tasks) == (1, tasks)


def test_of_few_rows_the_first_fault_is_raised(runner: SparkRunner) -> None:
    sent = runner.exchange(refuse_seven, TASKS, 3, "t: send", rows=1)
    with pytest.raises(StorageError, match=r"^seven is damaged$"):
        sent.run(read_all, [(0, "x")], "t: read")
    sent = runner.exchange(send_numbers, TASKS, 3, "t: send", rows=1)
    with pytest.raises(StorageError, match=r"^second refuses$"):
        sent.run(refuse_to_read, [(2, "second"), (0, "first")], "t: read")


def jobs_of(spark: SparkSession) -> int:
    store: Any = spark.sparkContext._jsc.sc().statusStore()
    return int(store.jobsList(None).size())


def test_a_chain_of_steps_is_one_job(spark: SparkSession, runner: SparkRunner) -> None:
    before = jobs_of(spark)
    first = runner.exchange(send_numbers, TASKS, 3, "t: send")
    second = first.send(send_on, [(0, "none"), (1, "one")], 2, "t: send on")
    second.run(read_all, [(0, "even")], "t: read")
    first.results()
    second.row_counts()
    assert jobs_of(spark) == before + 1


def test_nobody_sends_twice(runner: SparkRunner, tmp_path: Path) -> None:
    sent = runner.exchange(partial(note_call, str(tmp_path)), TASKS, 3, "t: send")
    assert list(tmp_path.iterdir()) == []
    for _ in range(3):
        sent.run(read_all, [(0, "none"), (1, "one")], "t: read")
    assert len(list(tmp_path.iterdir())) == len(TASKS)


def test_faults_come_back_as_they_were(runner: SparkRunner) -> None:
    sent = runner.exchange(refuse_seven, TASKS, 3, "t: send")
    with pytest.raises(StorageError, match=r"^seven is damaged$"):
        sent.run(read_all, [(0, "x")], "t: read")
    sent = runner.exchange(refuse_seven, TASKS, 3, "t: send")
    with pytest.raises(StorageError, match=r"^seven is damaged$"):
        sent.send(send_on, [(0, "x")], 2, "t: on").run(read_all, [(0, "x")], "t: read")
    sent = runner.exchange(send_numbers, TASKS, 3, "t: send")
    with pytest.raises(StorageError, match=r"^x refuses$"):
        sent.run(refuse_to_read, [(1, "x")], "t: read")


def break_down(values: list[int], outbox: Outbox) -> int:
    raise ZeroDivisionError("once more")


def test_what_nobody_expected_is_one_line(runner: SparkRunner) -> None:
    sent = runner.exchange(break_down, TASKS[:1], 3, "t: send")
    with pytest.raises(TaskError, match="t: read: a task failed: ZeroDivisionError: once more"):
        sent.run(read_all, [(0, "x")], "t: read")


def as_blocks(values: Iterable[int]) -> Iterator[Block]:
    outbox = Outbox(0)
    outbox.send_all(NUMBERS, numbers(list(values)), 0)
    yield from outbox.blocks


def broken(values: Iterable[int]) -> Iterator[Block]:
    for _ in values:
        raise ValueError("half a query")
    return iter(())


def explain(said: str) -> CrawlError | None:
    return UsageError("your query is wrong") if "half a query" in said else None


def test_a_query_of_spark_sends_too(spark: SparkSession, runner: SparkRunner) -> None:
    source = RddSource(spark.sparkContext.parallelize(range(40, 44), 2).mapPartitions(as_blocks))
    sent = runner.exchange(send_numbers, TASKS[:1], 3, "t: send", [source])
    ((_, found, _),) = sent.run(read_all, [(0, "none")], "t: read")
    assert sorted(found) == [0, 0, 40, 41, 42, 43]


def test_a_query_that_fails_is_explained(spark: SparkSession, runner: SparkRunner) -> None:
    rows = spark.sparkContext.parallelize([1], 1).mapPartitions(broken)
    sent = runner.exchange(send_numbers, TASKS[:1], 3, "t: send", [RddSource(rows, explain)])
    with pytest.raises(UsageError, match=r"^your query is wrong$"):
        sent.run(read_all, [(0, "none")], "t: read")


def count_only(name: str, received: Received) -> int:
    return received.rows(NUMBERS).num_rows


def test_many_rows_of_many_tasks(runner: SparkRunner) -> None:
    """More destinations than Spark would write a file for each, and than there are rows."""
    tasks = [list(range(n, n + 500)) for n in range(0, 4000, 250)]
    sent = runner.exchange(send_numbers, tasks, 300, "t: send")
    found = sent.run(count_only, [(n, str(n)) for n in range(300)], "t: count")
    assert found[:3] == [2667, 2667, 2666] or sum(found[:3]) == 8000
    assert sum(found) == 8000 and not any(found[3:])
