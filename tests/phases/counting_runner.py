"""A Runner that counts what would pass the driver if its tasks ran elsewhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from crawl.model.costs import EngineCosts
from crawl.tables.exchange import Addressed, BlockSource, Exchange, Outbox, Received
from crawl.tables.runner import InProcess
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

    def exchange(
        self,
        function: Callable[[Task, Outbox], Result],
        tasks: Sequence[Task],
        destinations: int,
        step: str,
        sources: Sequence[BlockSource] = (),
        *,
        rows: int | None = None,
    ) -> Exchange[Result]:
        sent = InProcess().exchange(function, tasks, destinations, step, sources)
        self.add(step, EngineCosts(task_bytes=pickled_bytes(function, *tasks)))
        return _Counted(self, sent, len(tasks), step)

    def add(self, step: str, costs: EngineCosts) -> None:
        self.steps[step] = self.steps.get(step, EngineCosts()) + costs
        account = current_account()
        if account is not None:
            account.add(costs)


class _Counted(Generic[Result]):
    """An exchange in memory; counted is what passes the driver, not what is exchanged."""

    def __init__(
        self, runner: CountingRunner, sent: Exchange[Result], senders: int, step: str
    ) -> None:
        self._runner = runner
        self._sent = sent
        self._senders = senders
        self._step = step
        self._is_heard = False

    def results(self) -> Sequence[Result]:
        found = self._sent.results()
        if not self._is_heard:
            self._is_heard = True
            returned = pickled_bytes(*found, self._sent.row_counts())
            self._runner.add(
                self._step, EngineCosts(jobs=1, tasks=self._senders, result_bytes=returned)
            )
        return found

    def row_counts(self) -> npt.NDArray[np.int64]:
        self.results()
        return self._sent.row_counts()

    def run(
        self,
        function: Callable[[Task, Received], Any],
        tasks: Sequence[Addressed[Task]],
        step: str,
    ) -> list[Any]:
        self.results()
        found = self._sent.run(function, tasks, step)
        self._runner.add(
            step,
            EngineCosts(
                jobs=1,
                tasks=len(tasks),
                task_bytes=pickled_bytes(function, *tasks),
                result_bytes=pickled_bytes(*found),
            ),
        )
        return found

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Any],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> Exchange[Any]:
        self._runner.add(step, EngineCosts(task_bytes=pickled_bytes(function, *tasks)))
        sent = self._sent.send(function, tasks, destinations, step)
        return _Counted(self._runner, sent, len(tasks), step)


def pickled_bytes(*values: Any) -> int:
    """Of all of them, each by itself."""
    return sum(len(pickle.dumps(value)) for value in values)
