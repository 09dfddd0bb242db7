"""Jobs of our own and of others in one session: who is named how, and who cancels whom."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawl.errors import Cancelled
from crawl.spark.faults import TaskError
from crawl.spark.job_properties import (
    OperationJobs,
    job_group,
    jobs_of_operation,
    new_group,
)
from crawl.spark.progress import _task_progress, progress
from crawl.spark.tasks import SparkRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_S = 60.0
_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


class FakeContext:
    """A context of one thread, which remembers what it was asked to cancel."""

    def __init__(self, **properties: str) -> None:
        self.properties: dict[str, str] = properties
        self.tags: set[str] = {"the caller's"}
        self.cancelled: list[str] = []

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802
        return self.properties.get(key)

    def setLocalProperty(self, key: str, value: str | None) -> None:  # noqa: N802
        if value is None:
            self.properties.pop(key, None)
        else:
            self.properties[key] = value

    def setJobGroup(self, group: str, text: str, interruptOnCancel: bool) -> None:  # noqa: N802, N803
        values = (group, text, str(interruptOnCancel).lower())
        self.properties |= dict(zip(_PROPERTIES, values, strict=True))

    def getJobTags(self) -> set[str]:  # noqa: N802
        return set(self.tags)

    def addJobTag(self, tag: str) -> None:  # noqa: N802
        self.tags.add(tag)

    def removeJobTag(self, tag: str) -> None:  # noqa: N802
        self.tags.remove(tag)

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        self.cancelled.append(group)

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802
        self.cancelled.append(tag)


@pytest.mark.parametrize("fails", [False, True])
def test_the_caller_s_properties_come_back(fails: bool) -> None:
    theirs = dict(zip(_PROPERTIES, ("cell 7", "their own", "false"), strict=True))
    context: Any = FakeContext(**theirs)
    try:
        with jobs_of_operation(context) as whole, job_group(context, "g", "parse"):
            assert context.properties["spark.jobGroup.id"] == "g"
            assert context.tags == {"the caller's", whole.tag}
            with job_group(context, "inner", "count"):
                assert context.properties["spark.job.description"] == "count"
            assert context.properties["spark.job.description"] == "parse"
            assert whole.tag in context.tags
            if fails:
                raise ValueError
    except ValueError:
        assert context.cancelled == ["g"]
    assert context.properties == theirs
    assert context.tags == {"the caller's"}


def test_what_nobody_had_set_is_not_set_after() -> None:
    context: Any = FakeContext()
    with job_group(context, "g", "parse"):
        assert context.properties
    assert context.properties == {}


def test_an_operation_that_was_cancelled_begins_no_further_step() -> None:
    context: Any = FakeContext()
    with jobs_of_operation(context) as whole:
        whole.cancel()
        with pytest.raises(Cancelled), job_group(context, "g", "parse"):
            raise AssertionError("it has begun")
    assert context.cancelled == [whole.tag]
    with job_group(context, "g", "parse"):
        assert context.tags == {"the caller's"}, "a later step is none of it"


def test_groups_and_tags_are_nobody_else_s() -> None:
    context: Any = FakeContext()
    assert len({new_group("fetch") for _ in range(100)}) == 100
    assert len({OperationJobs(context).tag for _ in range(100)}) == 100


class WaitForFile:
    """A task that says that it runs, and ends when it is told to."""

    def __init__(self, folder: Path, name: str) -> None:
        self.begun, self.end = folder / f"{name}.begun", folder / f"{name}.end"

    def __call__(self, _: object) -> int:
        self.begun.touch()
        until = time.monotonic() + _PATIENCE_S
        while not self.end.exists():
            assert time.monotonic() < until, "nobody ended it"
            time.sleep(0.01)
        return 7

    def of_partition(self, rows: Iterable[object]) -> Iterator[int]:
        return map(self, rows)


def eventually(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not happened():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.mark.spark
class TestOnSpark:
    """A real scheduler: whether a tag reaches the jobs of other threads is Spark's to say."""

    def test_an_interrupted_run_cancels_its_own_jobs_and_no_others(
        self, spark: SparkSession, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        theirs, ours = WaitForFile(tmp_path, "theirs"), WaitForFile(tmp_path, "ours")
        context = spark.sparkContext

        def foreign() -> list[int]:
            context.setJobGroup("theirs", "a job of the notebook")
            return context.parallelize([0], 1).mapPartitions(theirs.of_partition).collect()

        their_job = pool.submit(foreign)
        with jobs_of_operation(spark.sparkContext) as jobs:
            beside: Future[Any] = pool.submit(
                copy_context().run, SparkRunner(spark, quiet=True).run, ours, [0], "parse"
            )
            eventually(lambda: theirs.begun.exists() and ours.begun.exists())
            jobs.cancel()
            with pytest.raises(TaskError):
                beside.result(_PATIENCE_S)
        assert not their_job.done()
        theirs.end.touch()
        assert their_job.result(_PATIENCE_S) == [7]

    def test_two_steps_side_by_side_are_counted_and_cancelled_apart(
        self, spark: SparkSession, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        context = spark.sparkContext
        first, second = WaitForFile(tmp_path, "first"), WaitForFile(tmp_path, "second")
        groups: dict[str, str] = {}

        def step(name: str, task: WaitForFile) -> list[int]:
            with progress(spark, "updatedb: merge", quiet=True):
                groups[name] = context.getLocalProperty("spark.jobGroup.id") or ""
                return context.parallelize([0], 1).mapPartitions(task.of_partition).collect()

        one, other = pool.submit(step, "one", first), pool.submit(step, "other", second)
        eventually(lambda: first.begun.exists() and second.begun.exists())
        second.end.touch()
        assert other.result(_PATIENCE_S) == [7]
        context._jsc.sc().listenerBus().waitUntilEmpty(60_000)  # which tells the tracker
        counts = {name: _task_progress(context, group, 0, 0.0) for name, group in groups.items()}
        assert (counts["one"].done, counts["one"].total) == (0, 1)
        assert (counts["other"].done, counts["other"].total) == (1, 1)
        context.cancelJobGroup(groups["other"])
        assert not one.done()
        first.end.touch()
        assert one.result(_PATIENCE_S) == [7]

    def test_the_caller_s_group_description_and_tags_come_back(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        found: list[object] = []

        def caller() -> None:  # in a thread of its own, whose properties end with it
            context.setJobGroup("cell 7", "their own", interruptOnCancel=False)
            context.addJobTag("theirs")
            with jobs_of_operation(spark.sparkContext):
                found.append(SparkRunner(spark, quiet=True).run(abs, [-1], "parse"))
            found.extend(context.getLocalProperty(key) for key in _PROPERTIES)
            found.append(set(context.getJobTags()))

        thread = threading.Thread(target=caller)
        thread.start()
        thread.join(_PATIENCE_S)
        assert found == [[1], "cell 7", "their own", "false", {"theirs"}]
