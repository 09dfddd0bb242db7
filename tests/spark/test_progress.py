from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crawl.spark.progress import TaskProgress, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_unknown_total_is_not_claimed() -> None:
    assert str(TaskProgress(3, None, 7.0)) == "3 tasks, 7 s"
    assert str(TaskProgress(3, 64, 7.0)) == "3 of 64 tasks, 7 s"


@pytest.mark.spark
def test_spark_is_given_phase_and_step_and_forgets_them(spark: SparkSession) -> None:
    context = spark.sparkContext
    with progress(spark, "generate: scan", quiet=True):
        group = context.getLocalProperty("spark.jobGroup.id")
        assert context.getLocalProperty("spark.job.description") == "generate: scan"
        assert context.parallelize([1, 2, 3], 3).sum() == 6
    assert group is not None
    # the tracker is told of jobs by a queue, which a busy machine empties late
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    assert len(context.statusTracker().getJobIdsForGroup(group)) == 1
    assert context.getLocalProperty("spark.job.description") is None
    assert context.getLocalProperty("spark.jobGroup.id") is None
