"""Runner: maps a function over tasks. Spark is one, this process another.

Work on buckets asks for a Runner, so that a test or a small read needs no JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

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


class InProcess:
    """Runs the tasks in this process: one after the other, or in `threads` threads."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = max(1, threads)

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        work = observe_tasks(function, step, away=False)
        if self._threads == 1 or len(tasks) <= 1:
            return work.results([work.function(task) for task in tasks])
        with ThreadPoolExecutor(min(self._threads, len(tasks))) as pool:
            futures = [pool.submit(work.function, task) for task in tasks]
            try:
                return work.results([future.result() for future in futures])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
