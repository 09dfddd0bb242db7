"""Blocks of Spark's shuffle are lost, and a sender meets a second fault when Spark has it send
again; and faults that pass. Needs Spark: it is Spark that tries again, and that says in the end for
which fault it gave up."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crawl.errors import ConfigError, DamagedFile, Locked, StorageError, UsageError
from crawl.spark import exchange
from crawl.spark.exchange import RddSource
from crawl.spark.faults import ChangedRows
from crawl.spark.tasks import SparkRunner
from crawl.tables.exchange import Exchange, Outbox, Received
from crawl.telemetry.costs import cost_account
from tests.tables.exchanging import NUMBERS, numbers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]

SENDERS, DESTINATIONS, ROWS = 4, 2, 10


@pytest.fixture
def runner(spark: SparkSession) -> SparkRunner:
    return SparkRunner(spark, quiet=True)


def calls(folder: str, name: object) -> int:
    """Counts the calls of a task, this one with them, over all processes."""
    place = Path(folder) / str(name)
    place.mkdir(exist_ok=True)
    number = len(list(place.iterdir())) + 1
    (place / str(number)).touch()
    return number


def send_ten(folder: str, how: str, task: int, outbox: Outbox) -> int:
    """Ten rows, to all destinations in turn; the last task fails when it is called again."""
    call = calls(folder, task)
    rows = ROWS
    if task == SENDERS - 1 and call > 1:
        if how == "passing" and call == 2:
            raise StorageError("the store is away")
        if how == "lasting":
            raise DamagedFile("a/b.parquet", "it is cut")
        if how == "user":
            raise ConfigError("crawl.x: what is that")
        if how == "fewer":
            rows -= 2
    outbox.send(NUMBERS, numbers(list(range(rows))), np.arange(rows) % DESTINATIONS)
    return rows


def count(task: str, received: Received) -> int:
    return received.row_count(NUMBERS)


def send_back(task: str, received: Received, outbox: Outbox) -> str:
    rows = received.rows(NUMBERS)
    outbox.send(NUMBERS, rows, rows["n"].to_numpy() % DESTINATIONS)
    return task


def disks(task: int) -> str:
    """Runs in the worker: where Spark keeps its files."""
    return os.environ["SPARK_LOCAL_DIRS"]


def lose_blocks(runner: SparkRunner) -> None:
    """Deletes all files of all shuffles, as if the executors' disks were gone."""
    (folders,) = runner.run(disks, [0], "t: disks")
    found = [path for each in folders.split(",") for path in Path(each).rglob("shuffle_*")]
    assert found
    for path in found:
        path.unlink(missing_ok=True)


EVERYWHERE = [(place, f"at {place}") for place in range(DESTINATIONS)]
EXPECTED: dict[str, Any] = {
    "lasting": (DamagedFile, r"^a/b\.parquet is damaged: it is cut; `crawl check"),
    "user": (ConfigError, r"^crawl\.x: what is that$"),
    "fewer": (ChangedRows, r"^destination \d received 19 rows, and 20 were sent at first"),
}
"""Without `passing`, which nobody hears of."""


@pytest.mark.parametrize(
    ("how", "way"),
    [
        *((how, way) for how in ("passing", "user") for way in ("read", "sent on", "grouped")),
        # what is tried four times in vain takes seconds, as each time a worker is started anew
        ("lasting", "read"),
        ("fewer", "read"),
    ],
)
def test_lost_rows_come_back_or_are_missed(
    runner: SparkRunner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    way: str,
) -> None:
    if way == "sent on":
        monkeypatch.setattr(exchange, "_TASK_BYTES_FOR_ALL", 0)
    send = partial(send_ten, str(tmp_path), how)
    rows = 1 if way == "grouped" else None
    sent: Exchange[Any] = runner.exchange(send, range(SENDERS), DESTINATIONS, "t: send", rows=rows)
    assert sent.results() == [ROWS] * SENDERS
    if way == "sent on":
        sent = sent.send(send_back, EVERYWHERE, DESTINATIONS, "t: back")
        assert sent.results() == ["at 0", "at 1"]
    lose_blocks(runner)
    if how == "passing":
        assert sent.run(count, EVERYWHERE, "t: count") == [20, 20]
    else:
        kind, message = EXPECTED[how]
        with pytest.raises(kind, match=message) as raised:
            sent.run(count, EVERYWHERE, "t: count")
        assert type(raised.value) is kind


def fail_at_first(folder: str, task: int) -> str:
    if calls(folder, task) == 1 and task == 1:
        raise StorageError("one executor sees no store")
    return f"{task} done"


def fail_always(folder: str, kind: str, task: int) -> str:
    calls(folder, task)
    if task == 1:
        if kind == "locked":
            raise Locked("somebody writes")
        raise DamagedFile("c/d.parquet", "it is cut")
    return "done"


def test_a_fault_of_a_store_that_passes_fails_nothing(runner: SparkRunner, tmp_path: Path) -> None:
    for name in ("tasks", "senders", "receivers"):
        (tmp_path / name).mkdir()
    with cost_account() as account:
        done = runner.run(partial(fail_at_first, str(tmp_path / "tasks")), range(3), "t: tasks")
    assert done == ["0 done", "1 done", "2 done"]
    assert account.total.retried_tasks == 1
    send = partial(send_at_second, str(tmp_path / "senders"))
    sent = runner.exchange(send, range(3), 2, "t: send")
    receive = partial(receive_at_second, str(tmp_path / "receivers"))
    assert sent.run(receive, [(0, 0), (1, 1)], "t: read") == [15, 15]


def send_at_second(folder: str, task: int, outbox: Outbox) -> None:
    fail_at_first(folder, task)
    outbox.send(NUMBERS, numbers(list(range(ROWS))), np.arange(ROWS) % DESTINATIONS)


def receive_at_second(folder: str, task: int, received: Received) -> int:
    fail_at_first(folder, task)
    return received.row_count(NUMBERS)


@pytest.mark.parametrize(("kind", "tries"), [("damaged", 4), ("locked", 1)])
def test_a_fault_that_lasts_is_told_as_it_was(
    runner: SparkRunner, tmp_path: Path, kind: str, tries: int
) -> None:
    with pytest.raises((DamagedFile, Locked)) as raised:
        runner.run(partial(fail_always, str(tmp_path), kind), range(2), "t: tasks")
    assert len(list((tmp_path / "1").iterdir())) == tries
    fault = raised.value
    if isinstance(fault, DamagedFile):
        assert (fault.path, fault.fault, fault.exit_code) == ("c/d.parquet", "it is cut", 2)
        assert str(fault) == str(DamagedFile("c/d.parquet", "it is cut"))
    else:
        assert (str(fault), fault.exit_code) == ("somebody writes", 3)


def refuse(task: int, outbox: Outbox) -> None:
    outbox.send(NUMBERS, numbers([task]), np.array([0]))
    if task > 0:
        raise UsageError(f"{task} is refused")


def touch(folder: str, task: int, received: Received) -> None:
    (Path(folder) / "called").touch()


def test_nobody_works_on_what_is_not_whole(runner: SparkRunner, tmp_path: Path) -> None:
    sent = runner.exchange(refuse, range(3), 2, "t: send")
    with pytest.raises(UsageError, match="^1 is refused$"):
        sent.run(partial(touch, str(tmp_path)), [(0, 0), (1, 1)], "t: read")
    assert not list(tmp_path.iterdir())


def test_a_fault_of_a_source_is_told_as_it_was(spark: SparkSession, runner: SparkRunner) -> None:
    source = RddSource(spark.sparkContext.parallelize([1], 1).mapPartitions(_refused))
    sent = runner.exchange(refuse, [0], 2, "t: send", [source])
    with pytest.raises(StorageError, match="^no HostDb here$"):
        sent.results()


def _refused(values: Any) -> Any:
    for _ in values:
        yield from ()
        raise StorageError("no HostDb here")
