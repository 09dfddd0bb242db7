"""What Spark tells of the jobs of a step."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawl.model.costs import EngineCosts
from crawl.spark import costs
from crawl.spark.costs import MAX_RESULT_SIZE, add_costs, group_costs, pickled_tasks
from crawl.spark.progress import progress
from crawl.spark.tasks import SparkRunner
from crawl.storage.folder import Folder
from crawl.telemetry.costs import cost_account

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def store(task: tuple[str, int]) -> bytes:
    address, size = task
    Folder(address).write(f"f{size}", b"x" * size)
    return b"y" * size


def die_the_first_time(marker: str) -> str:
    path = Path(marker)
    if not path.exists():
        path.touch()
        os._exit(1)
    return "alive"


def test_tasks_are_counted_as_they_travel() -> None:
    with cost_account() as account:
        pickled = pickled_tasks(["a", "b" * 1000])
    assert account.total.task_bytes == sum(map(len, pickled)) > 1000


class Mute:
    """A context whose JVM has none of the methods."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def test_costs_that_spark_does_not_tell_are_not_known() -> None:
    context: Any = Mute()
    with cost_account() as account:
        account.add(EngineCosts(jobs=2, task_bytes=7))
        add_costs(context, "group", "test: step")
    total = account.total
    assert (total.jobs, total.tasks, total.driver_bytes) == (None, None, None)
    assert (total.task_bytes, total.bytes_read) == (7, 0)


def test_a_result_near_the_limit_is_remarked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = EngineCosts(largest_result_bytes=60_000_000, result_limit_bytes=100_000_000)
    monkeypatch.setattr(costs, "group_costs", lambda *_: found)
    context: Any = None
    with caplog.at_level(logging.WARNING), cost_account():
        add_costs(context, "group", "test: step")
    (line,) = caplog.messages
    assert line.startswith("test: step: its tasks returned 60 MB")
    assert MAX_RESULT_SIZE in line and "100 MB" in line
    add_costs(context, "group", "test: nobody asks")
    assert len(caplog.messages) == 1


@pytest.mark.spark
class TestOnSpark:
    def test_a_step_is_a_job_with_what_it_wrote_and_returned(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        runner = SparkRunner(spark, quiet=True)
        tasks = [(str(tmp_path), size) for size in (1000, 2000, 3000)]
        with cost_account() as account:
            runner.run(store, tasks, "test: store")
            runner.run(store, tasks[:1], "test: store")
        total = account.total
        assert (total.jobs, total.stages, total.tasks, total.retried_tasks) == (2, 2, 4, 0)
        assert (total.bytes_written, total.bytes_exchanged) == (7000, 0)
        assert 7000 < (total.result_bytes or 0) < 7000 + 4 * 10_000
        assert 6000 < (total.largest_result_bytes or 0) < (total.result_bytes or 0)
        assert total.result_limit_bytes == 1 << 30
        assert (total.task_bytes or 0) > 4 * len(str(tmp_path))

    def test_what_tasks_exchange_is_counted(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        with cost_account() as account, progress(spark, "test: exchange", quiet=True):
            blocks = context.parallelize(range(4), 4).map(lambda n: (n % 3, os.urandom(10_000)))
            received = blocks.partitionBy(3).mapPartitions(lambda rows: [len(list(rows))])
            assert sorted(received.collect()) == [1, 1, 2]
        total = account.total
        assert (total.jobs, total.stages, total.tasks) == (1, 2, 7)
        assert 40_000 < (total.bytes_exchanged or 0) < 60_000
        assert (total.result_bytes or 0) < 40_000

    def test_a_stage_whose_output_is_there_costs_nothing(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        pairs = context.parallelize(range(4), 4).map(lambda n: (n % 2, n)).partitionBy(2)
        with cost_account() as first, progress(spark, "test: first", quiet=True):
            pairs.count()
        with cost_account() as second, progress(spark, "test: second", quiet=True):
            pairs.count()
        assert (first.total.stages, first.total.tasks) == (2, 6)
        assert (second.total.stages, second.total.tasks) == (1, 2)
        assert second.total.bytes_exchanged == 0

    def test_a_task_that_died_is_a_retried_one(self, spark: SparkSession, tmp_path: Path) -> None:
        with cost_account() as account:
            SparkRunner(spark, quiet=True).run(
                die_the_first_time, [str(tmp_path / "died")], "test: die"
            )
        assert (account.total.tasks, account.total.retried_tasks) == (1, 1)

    def test_a_group_without_jobs_has_cost_nothing(self, spark: SparkSession) -> None:
        assert group_costs(spark.sparkContext, "no such group") == EngineCosts()

    def test_without_an_account_spark_is_not_asked(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(costs, "_group_costs", pytest.fail)
        assert SparkRunner(spark, quiet=True).run(len, ["a"], "test: len") == [1]
