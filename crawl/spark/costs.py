"""What the jobs of a step have cost, as Spark's own status store tells it.

The store is there without the web pages too and holds the sums of each stage, so nothing is
counted twice and no task is asked. It is found by the job group of the step, however its jobs were
started. Spark offers it to Python by no call of its own: where it cannot be asked the costs are
not known, and the work goes on.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crawl.model.costs import EngineCosts
from crawl.telemetry.costs import current_account

if TYPE_CHECKING:
    from pyspark import SparkContext

MAX_RESULT_SIZE = "spark.driver.maxResultSize"
_MAX_RESULT_SIZE_DEFAULT = "1g"  # Spark's own

_PATIENCE_MS = 10_000
"""The store is told of the end of tasks by a queue, which is empty within a millisecond unless the
machine is very busy."""

_COUNTED = ("jobs", "stages", "tasks", "retried_tasks", "bytes_exchanged", "result_bytes")
_UNKNOWN = EngineCosts(**dict.fromkeys((*_COUNTED, "largest_result_bytes")))

_log = logging.getLogger(__name__)


def pickled_tasks(tasks: Sequence[Any]) -> list[bytes]:
    """The tasks as they travel to the workers, which unpack them; the account is told of their
    size, which Spark does not count."""
    pickled = [pickle.dumps(task, pickle.HIGHEST_PROTOCOL) for task in tasks]
    account = current_account()
    if account is not None:
        account.add(EngineCosts(task_bytes=sum(map(len, pickled))))
    return pickled


def add_costs(context: SparkContext, group: str, step: str) -> None:
    """Adds the costs of the group's jobs, which are done, to the account of this thread."""
    account = current_account()
    if account is None:
        return
    costs = group_costs(context, group)
    account.add(costs)
    if costs.is_near_result_limit:
        _log.warning(
            "%s: its tasks returned %.0f MB to the driver, more than half of what %s allows"
            " (%.0f MB): a larger crawl needs more",
            step,
            (costs.largest_result_bytes or 0) / 1e6,
            MAX_RESULT_SIZE,
            (costs.result_limit_bytes or 0) / 1e6,
        )


def group_costs(context: SparkContext, group: str) -> EngineCosts:
    """What the jobs of the group have cost; not known where Spark does not say."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    try:
        return _group_costs(context, group)
    except (Py4JError, AttributeError, TypeError) as error:
        # methods of Spark's that no promise covers
        _log.debug("Spark does not tell what %s cost: %s", group, error)
        return _UNKNOWN


def _group_costs(context: SparkContext, group: str) -> EngineCosts:
    spark = context._jsc.sc()
    spark.listenerBus().waitUntilEmpty(_PATIENCE_MS)
    store = spark.statusStore()
    limit = int(spark.conf().getSizeAsBytes(MAX_RESULT_SIZE, _MAX_RESULT_SIZE_DEFAULT))
    total = EngineCosts()
    counted: set[int] = set()
    for job in context.statusTracker().getJobIdsForGroup(group):
        stages = [each for each in _elements(store.job(job).stageIds()) if each not in counted]
        counted.update(stages)
        costs = sum((_stage_costs(context, store, each) for each in stages), EngineCosts(jobs=1))
        returned = costs.result_bytes
        total += costs + EngineCosts(largest_result_bytes=returned, result_limit_bytes=limit)
    return total


def _stage_costs(context: SparkContext, store: Any, stage: int) -> EngineCosts:
    """All attempts of a stage; one whose output was there already has cost nothing."""
    gateway: Any = context._gateway
    every_task = gateway.jvm.java.util.ArrayList()
    no_quantiles = gateway.new_array(gateway.jvm.double, 0)
    attempts = _elements(store.stageData(stage, False, every_task, False, no_quantiles))
    total = EngineCosts()
    for attempt in attempts:
        if str(attempt.status().toString()) == "SKIPPED":
            continue
        is_first = int(attempt.attemptId()) == 0
        completed = int(attempt.numCompleteTasks())
        lost = int(attempt.numFailedTasks()) + int(attempt.numKilledTasks())
        total += EngineCosts(
            stages=1 if is_first else 0,
            tasks=completed if is_first else 0,
            retried_tasks=lost if is_first else lost + completed,
            bytes_exchanged=int(attempt.shuffleWriteBytes()),
            result_bytes=int(attempt.resultSize()),
        )
    return total


def _elements(sequence: Any) -> list[Any]:
    """What a sequence of Scala's holds."""
    return [sequence.apply(place) for place in range(int(sequence.size()))]
