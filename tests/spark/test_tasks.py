from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawl.errors import Locked
from crawl.spark.faults import Fault, _last_words
from crawl.spark.tasks import SparkRunner, TaskError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Stubborn(Locked):
    """A fault that needs more than a message."""

    def __init__(self, path: str, owner: int) -> None:
        super().__init__(f"{path} is locked by {owner}")
        self.owner = owner


def test_a_fault_comes_back_as_it_was() -> None:
    try:
        raise Stubborn("crawldb", 7)
    except Stubborn as error:
        rebuilt = Fault.of(error).rebuilt()
    assert type(rebuilt) is Stubborn
    assert str(rebuilt) == "crawldb is locked by 7"
    assert (rebuilt.owner, rebuilt.exit_code) == (7, 3)


def test_the_last_words_of_a_worker_are_found() -> None:
    trace = (
        "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collect.\n"
        ": org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.3\n"
        "Traceback (most recent call last):\n"
        '  File "merge.py", line 3, in merge\n'
        "ZeroDivisionError: division by zero\n\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)\n"
        "Driver stacktrace:\n"
        "Caused by: org.apache.spark.api.python.PythonException: again\n"
    )
    assert _last_words(trace) == "ZeroDivisionError: division by zero"


def test_code_that_an_executor_lacks_is_reported_with_what_to_do() -> None:
    trace = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'theirs'\n"
    message = _last_words(trace)
    assert message.startswith(
        "ModuleNotFoundError: No module named 'theirs' on an executor: send it"
    )
    assert "scripts/package" in message


def test_a_dead_worker_is_called_dead() -> None:
    trace = ": SparkException: boom\nPython worker exited unexpectedly (crashed)\n"
    assert _last_words(trace) == "its Python process died (out of memory?)"


def square(n: int) -> int:
    return n * n


def refuse_two(n: int) -> int:
    if n == 2:
        raise Stubborn("bucket 2", 99)
    return n


def die_the_first_time(marker: str) -> str:
    path = Path(marker)
    if not path.exists():
        path.touch()
        os._exit(1)
    return "alive"


def divide_by(n: int) -> float:
    return 1 / n


def sleep_until_killed(marker: str) -> None:
    Path(marker).touch()
    time.sleep(60)


@pytest.mark.spark
class TestOnSpark:
    def test_results_come_in_the_order_of_the_tasks(self, spark: SparkSession) -> None:
        runner = SparkRunner(spark, quiet=True)
        assert runner.run(square, [3, 1, 2], "test: square") == [9, 1, 4]

    def test_no_tasks_is_no_job(self, spark: SparkSession) -> None:
        assert SparkRunner(spark, quiet=True).run(square, [], "test: nothing") == []

    def test_a_fault_of_a_task_reaches_the_driver(self, spark: SparkSession) -> None:
        with pytest.raises(Stubborn, match=r"^bucket 2 is locked by 99$"):
            SparkRunner(spark, quiet=True).run(refuse_two, [1, 2, 3], "test: refuse")

    def test_a_worker_that_dies_is_replaced(self, spark: SparkSession, tmp_path: Path) -> None:
        marker = str(tmp_path / "died")
        assert SparkRunner(spark, quiet=True).run(die_the_first_time, [marker], "test: die") == [
            "alive"
        ]

    def test_a_crash_is_one_line_with_the_log(self, spark: SparkSession) -> None:
        with pytest.raises(TaskError) as raised:
            SparkRunner(spark, quiet=True).run(divide_by, [1, 0], "test: divide")
        message = str(raised.value)
        assert message.startswith(
            "test: divide: a task failed: ZeroDivisionError: division by zero; see /"
        )
        assert "\n" not in message

    def test_ctrl_c_cancels_the_tasks(self, spark: SparkSession, tmp_path: Path) -> None:
        marker = tmp_path / "running"

        def interrupt_when_running() -> None:
            while not marker.exists():
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt_when_running, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            SparkRunner(spark, quiet=True).run(sleep_until_killed, [str(marker)], "test: sleep")
        # Both cores are free again: these two would otherwise wait a minute for one.
        assert SparkRunner(spark, quiet=True).run(square, [2, 3], "test: after") == [4, 9]
        # the tracker is told of jobs by a queue, which a busy machine empties late
        context = spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        assert list(context.statusTracker().getActiveJobsIds()) == []
