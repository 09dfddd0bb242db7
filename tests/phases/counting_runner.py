"""A Runner that counts what would pass the driver if its tasks ran elsewhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from crawl.buckets.runner import InProcess
from crawl.model.costs import EngineCosts
from crawl.telemetry.costs import current_account

Task = TypeVar("Task")
Result = TypeVar("Result")


class CountingRunner:
    """Runs the tasks in this process, each from its pickled form and to its pickled result. The
    sizes go to the account of the phase, as an engine's do, and stay here by step."""

    def __init__(self) -> None:
        self.steps: dict[str, EngineCosts] = {}

    @property
    def driver_bytes(self) -> int:
        """All that has passed so far."""
        return sum(costs.driver_bytes or 0 for costs in self.steps.values())

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        sent = [len(pickle.dumps(function)), *(len(pickle.dumps(task)) for task in tasks)]
        copies: list[Any] = [pickle.loads(pickle.dumps(task)) for task in tasks]
        pickled = [pickle.dumps(result) for result in InProcess().run(function, copies, step)]
        returned = sum(map(len, pickled))
        self.add(
            step,
            EngineCosts(
                jobs=1,
                stages=1,
                tasks=len(tasks),
                task_bytes=sum(sent),
                result_bytes=returned,
                largest_result_bytes=returned,
            ),
        )
        return [pickle.loads(result) for result in pickled]

    def add(self, step: str, costs: EngineCosts) -> None:
        self.steps[step] = self.steps.get(step, EngineCosts()) + costs
        account = current_account()
        if account is not None:
            account.add(costs)
