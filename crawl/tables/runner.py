"""Runner: maps a function over tasks, or lets tasks send rows to each other. Spark is one, this
process another.

Work on buckets asks for a Runner, so that a test or a small read needs no JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from crawl.tables.exchange import (
    NOTHING,
    Addressed,
    Block,
    BlockSource,
    Exchange,
    OfTuple,
    Outbox,
    Received,
    StoredBlocks,
)
from crawl.telemetry.task import observe_tasks

Task = TypeVar("Task")
Result = TypeVar("Result")


class Runner(Protocol):
    """Maps a function over tasks."""

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        """`function` of each task, in the order of `tasks`.

        Tasks are started in the given order: put the largest first. `function`, tasks and
        results must be picklable, `function` must not depend on what another task did, and
        it may be called again for a task whose first attempt was lost. A CrawlError raised
        by it is raised here, of the same type and with the same message. `step` names the
        work for people: "generate: scan".
        """
        ...

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
        """Has the tasks send rows to numbered destinations (crawl/tables/exchange.py).

        Nothing is called before somebody wants to have the rows or the results. What holds
        for `function` in `run` holds here. `sources` bring further blocks. `rows`: as many, about,
        as the exchange and those that follow from it work on in all; where they are few, the
        runner may have several tasks, or destinations, worked on one after the other.
        """
        ...


class InProcess:
    """Runs the tasks in this process: one after the other, or in `threads` threads."""

    def __init__(self, threads: int = 1, before_task: Callable[[], None] = lambda: None) -> None:
        self._threads = max(1, threads)
        self._before_task = before_task
        """Raises where no further task is to be begun."""

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        work = observe_tasks(function, step, away=False)

        def begin(task: Task) -> Any:
            self._before_task()
            return work.function(task)

        if self._threads == 1 or len(tasks) <= 1:
            return work.results([begin(task) for task in tasks])
        with ThreadPoolExecutor(min(self._threads, len(tasks))) as pool:
            futures = [pool.submit(begin, task) for task in tasks]
            try:
                return work.results([future.result() for future in futures])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

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
        arguments = [(task, Outbox(number)) for number, task in enumerate(tasks)]
        blocks: list[Block] = []
        for source in sources:
            assert isinstance(source, StoredBlocks)  # the only one that this process has
            blocks += source.blocks
        return _InMemory(
            self,
            destinations,
            lambda: self.run(OfTuple(function), arguments, step),
            [outbox for _, outbox in arguments],
            blocks,
        )


@dataclass(slots=True)
class _InMemory(Generic[Result]):
    """An exchange within this process."""

    _runner: InProcess
    _destinations: int
    _send: Callable[[], list[Result]]
    _outboxes: Sequence[Outbox]
    _blocks: Sequence[Block] = ()
    _results: list[Result] | None = None
    _received: dict[int, list[bytes]] = field(default_factory=dict)

    def results(self) -> list[Result]:
        if self._results is None:
            results = self._send()
            sent = (block for outbox in self._outboxes for block in outbox.blocks)
            for destination, block in chain(self._blocks, sent):
                assert 0 <= destination < self._destinations
                self._received.setdefault(destination, []).append(block)
            self._results = results
        return self._results

    def row_counts(self) -> npt.NDArray[np.int64]:
        self.results()
        counts = np.zeros(self._destinations, dtype=np.int64)
        for outbox in self._outboxes:
            for destination, rows in outbox.rows.items():
                counts[destination] += rows
        return counts

    def run(
        self, function: Callable[[Task, Received], Any], tasks: Sequence[Addressed[Task]], step: str
    ) -> list[Any]:
        arguments = [(task, self._at(destination)) for destination, task in tasks]
        return self._runner.run(OfTuple(function), arguments, step)

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Any],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> Exchange[Any]:
        outboxes = [Outbox(number) for number in range(len(tasks))]

        def send() -> list[Any]:
            arguments = [
                (task, self._at(destination), outbox)
                for (destination, task), outbox in zip(tasks, outboxes, strict=True)
            ]
            return self._runner.run(OfTuple(function), arguments, step)

        return _InMemory(self._runner, destinations, send, outboxes)

    def _at(self, destination: int) -> Received:
        self.results()
        blocks = self._received.get(destination)
        return NOTHING if blocks is None else Received(blocks)
