"""Carries telemetry to the worker of a task and back: the span and the context it belongs to, how
long it took, and in a phase also what it read and wrote. Where telemetry is off and nobody asks
for costs the task travels as it is.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from crawl.clock import SystemClock
from crawl.telemetry import logs
from crawl.telemetry.ambient import current_traceparent, meter, open_worker, settings, span, tracing
from crawl.telemetry.context import CrawlContext, current_context, in_context, process_context
from crawl.telemetry.costs import current_account
from crawl.telemetry.io_counts import IoCounts, counted_by, process_io
from crawl.telemetry.metrics import TASK_SECONDS
from crawl.telemetry.settings import Settings

Task = TypeVar("Task")
Result = TypeVar("Result")

_MAX_COUNTS = 60
"""Counters that a span repeats."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _TimedResult:
    """A result on its way back."""

    result: Any
    seconds: float


@dataclass(frozen=True)
class _ObservedTask(Generic[Task]):
    """The function, in a span of its own; travels by pickle."""

    function: Callable[[Task], Any]
    settings: Settings
    place: CrawlContext
    parent: str
    is_away: bool
    """In a process of its own, with one task at a time."""

    def __call__(self, task: Task) -> _TimedResult:
        clock = SystemClock()
        began = clock.monotonic()
        place = _placed(self.place, task)
        if self.is_away:
            open_worker(self.settings)
            try:
                with process_context(place):
                    result = self._run(task)
            finally:
                sent = tracing()
                if sent is not None:
                    sent.flush()  # Spark may end this process at any time from here on
        else:
            with in_context(place):
                result = self._run(task)
        return _TimedResult(result, clock.monotonic() - began)

    def _run(self, task: Task) -> Any:
        here = current_context()
        with span(f"{here.phase or here.command} task", parent=self.parent) as opened:
            _log.debug("task begins")
            try:
                result = self.function(task)
            except Exception:
                if logs.is_json():  # as text Spark tells it, or whoever runs the task
                    _log.exception("task failed")
                raise
            counters = getattr(result, "counters", None)
            if isinstance(counters, Counter):
                counts = dict(counters.most_common(_MAX_COUNTS))
                opened.set(**{f"nutria.count.{name}": count for name, count in counts.items()})
                _log.info("task done", extra={"fields": {"counters": counts}})
            else:
                _log.debug("task done")
            return result


@dataclass(frozen=True, slots=True)
class ObservedTasks(Generic[Task, Result]):
    """A function to be called for every task, and how to unwrap what it returned."""

    function: Callable[[Task], Any]
    results: Callable[[Sequence[Any]], list[Result]]


@dataclass(frozen=True, slots=True)
class CountedResult:
    """A result on its way back, with what its task read and wrote."""

    result: Any
    io: IoCounts


@dataclass(frozen=True, slots=True)
class _CountedTask(Generic[Task]):
    """The function in a process of its own, which runs one task at a time; travels by pickle."""

    function: Callable[[Task], Any]

    def __call__(self, task: Task) -> CountedResult:
        before = process_io()
        result = self.function(task)
        return CountedResult(result, process_io() - before)


def observe_tasks(
    function: Callable[[Task], Result], step: str, *, away: bool
) -> ObservedTasks[Task, Result]:
    """Wraps the function so that every task of the step is observed, and counted where there is
    an account. `away`: the tasks run in processes of their own."""
    work = _observed(function, step, away=away)
    account = current_account()
    if account is None:
        return work
    if away:

        def results(outcomes: Sequence[CountedResult]) -> list[Result]:
            account.io.add(sum((each.io for each in outcomes), IoCounts()))
            return work.results([each.result for each in outcomes])

        return ObservedTasks(_CountedTask(work.function), results)

    def counted(task: Task) -> Any:
        with counted_by(account.io):  # the thread may be one of a pool
            return work.function(task)

    return ObservedTasks(counted, work.results)


def _observed(
    function: Callable[[Task], Result], step: str, *, away: bool
) -> ObservedTasks[Task, Result]:
    options = settings()
    if not options.is_on:
        return ObservedTasks(function, list)
    place = current_context()
    phase = place.phase or place.command
    named = place.step or step.removeprefix(f"{phase}: ")
    place = replace(place, step=named)
    task = _ObservedTask(function, options.without_metrics(), place, current_traceparent(), away)

    def results(outcomes: Sequence[_TimedResult]) -> list[Result]:
        figures = meter()
        for each in outcomes if figures is not None else ():
            assert figures is not None
            figures.observe(TASK_SECONDS, each.seconds, phase=phase, step=named)
        return [each.result for each in outcomes]

    return ObservedTasks(task, results)


def _placed(place: CrawlContext, task: object) -> CrawlContext:
    """The place with the number of the task's part or bucket, where it has one."""
    if isinstance(task, tuple) and task:
        task = task[0]
    for holder in (task, getattr(task, "file", None), getattr(task, "base", None)):
        for name in ("part", "bucket", "number"):
            number = getattr(holder, name, None)
            if isinstance(number, int):
                return replace(place, part=number)
    return place
