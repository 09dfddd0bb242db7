"""A Runner for crawls that are too large to be run: of every step it runs a few tasks, and takes
what they returned for what the others would have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from crawl.model.costs import EngineCosts
from crawl.tables.exchange import Addressed, BlockSource, Exchange, Outbox, Received
from crawl.tables.runner import InProcess
from tests.phases.counting_runner import pickled_bytes

Task = TypeVar("Task")
Result = TypeVar("Result")

_SAMPLES = 2


@dataclass(frozen=True)
class Sampling:
    """Which tasks are run, and what is said of the others."""

    is_sampled: Callable[[Any], bool | None]
    """Whether this task is run; None: the first ones of its step are."""
    like: Callable[[Any, Any], Any]
    """What a task that is not run returns, by what one has that was."""
    made_up: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Of these steps no task is run: what each returns."""
    received: Mapping[str, Callable[[int], Received]] = field(default_factory=dict)
    """Of these steps all tasks are run: what each receives."""

    def samples(self, tasks: Sequence[Any]) -> list[int]:
        found = [number for number, task in enumerate(tasks) if self.is_sampled(task)]
        return found or list(range(min(_SAMPLES, len(tasks))))

    def results(self, tasks: Sequence[Any], samples: list[int], done: Sequence[Any]) -> list[Any]:
        found = [self.like(task, done[-1]) for task in tasks]
        for number, result in zip(samples, done, strict=True):
            found[number] = result
        return found


class SampledRunner:
    """Counts the bytes of all tasks and of all results, as the CountingRunner does."""

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling
        self.steps: dict[str, EngineCosts] = {}

    @property
    def driver_bytes(self) -> int:
        return sum(costs.driver_bytes or 0 for costs in self.steps.values())

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        samples = self.sampling.samples(tasks)
        done = InProcess().run(function, [tasks[number] for number in samples], step)
        results = self.sampling.results(tasks, samples, done)
        self.count(step, sent=pickled_bytes(function, *tasks), tasks=len(tasks))
        self.count(step, returned=pickled_bytes(*results))
        return results

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
        samples = self.sampling.samples(tasks)
        chosen = [tasks[number] for number in samples]
        self.count(step, sent=pickled_bytes(function, *tasks), tasks=len(tasks))
        sent = InProcess().exchange(function, chosen, destinations, step, sources)
        return _Sampled(self, sent, tasks, samples, step)

    def count(self, step: str, sent: int = 0, returned: int = 0, tasks: int = 0) -> None:
        costs = EngineCosts(tasks=tasks, task_bytes=sent, result_bytes=returned)
        self.steps[step] = self.steps.get(step, EngineCosts()) + costs


class _Sampled(Generic[Result]):
    """What the sampled tasks sent."""

    def __init__(
        self,
        runner: SampledRunner,
        sent: Exchange[Result],
        tasks: Sequence[Any],
        samples: list[int],
        step: str,
    ) -> None:
        self._runner = runner
        self._sent = sent
        self._tasks = tasks
        self._samples = samples
        self._step = step
        self._results: list[Result] | None = None

    def results(self) -> list[Result]:
        if self._results is None:
            sampling = self._runner.sampling
            if self._step in sampling.made_up:
                self._results = [sampling.made_up[self._step](task) for task in self._tasks]
            else:
                done = self._sent.results()
                self._results = sampling.results(self._tasks, self._samples, done)
            self._runner.count(self._step, returned=pickled_bytes(*self._results))
        return self._results

    def row_counts(self) -> npt.NDArray[np.int64]:
        """As if those that were not run had sent a row to every destination."""
        counts = np.maximum(self._sent.row_counts(), 1)
        self._runner.count(self._step, returned=pickled_bytes(counts))
        return counts

    def run(
        self,
        function: Callable[[Task, Received], Any],
        tasks: Sequence[Addressed[Task]],
        step: str,
    ) -> list[Any]:
        self.results()
        sampling, plain = self._runner.sampling, [task for _, task in tasks]
        if step in sampling.made_up:
            found = [sampling.made_up[step](task) for task in plain]
        elif step in sampling.received:
            receive = sampling.received[step]
            found = [function(task, receive(destination)) for destination, task in tasks]
        else:
            samples = sampling.samples(plain)
            done = self._sent.run(function, [tasks[number] for number in samples], step)
            found = sampling.results(plain, samples, done)
        sent = pickled_bytes(function, *tasks)
        self._runner.count(step, sent, pickled_bytes(*found), len(tasks))
        return found

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Any],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> Exchange[Any]:
        plain = [task for _, task in tasks]
        samples = self._runner.sampling.samples(plain)
        self._runner.count(step, sent=pickled_bytes(function, *tasks), tasks=len(tasks))
        sent = self._sent.send(function, [tasks[number] for number in samples], destinations, step)
        return _Sampled(self._runner, sent, plain, samples, step)
