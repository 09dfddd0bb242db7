"""Runs operations: in the caller's thread, or beside it, so that whoever holds one that is under
way can watch and cancel it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

from crawl.errors import Cancelled, CrawlError
from crawl.operations.events import Finished, Remark
from crawl.operations.operation import Operation
from crawl.operations.work import Work

_CANCEL_AGAIN_S = 0.5


def perform(operation: Operation, work: Work, options: Any) -> Any:
    """Runs an operation to its end; the observer gets its remarks, and then that it is over."""
    try:
        if operation.check is not None:
            operation.check(work.config, options)
        result = operation.run(work, options)
    except BaseException as fault:
        if isinstance(fault, CrawlError):
            # in place: whatever else it bears is its caller's, too
            fault.args = tuple(
                work.words(each) if isinstance(each, str) else each for each in fault.args
            )
        # of an interruption in good order that too is told which was done until then
        _tell(operation, work, getattr(fault, "result", None))
        work.observer.on_event(Finished(operation.name, fault))
        raise
    if isinstance(result, Iterator):
        return result
    _tell(operation, work, result)
    work.observer.on_event(Finished(operation.name))
    return result


def _tell(operation: Operation, work: Work, result: object) -> None:
    for line in getattr(result, "remarks", ()):
        work.observer.on_event(Remark(operation.command_name, work.words(line)))


class Running:
    """An operation under way in a thread of its own. Nothing else of it can be touched."""

    def __init__(self, operation: Operation, work: Work, options: Any) -> None:
        self.operation = operation
        self._work = work
        self._result: Any = None
        self._fault: BaseException | None = None
        self._is_done = threading.Event()
        context = copy_context()
        thread = threading.Thread(
            target=lambda: context.run(self._run, options), name=operation.name, daemon=True
        )
        thread.start()

    @property
    def is_done(self) -> bool:
        return self._is_done.is_set()

    def cancel(self) -> None:
        """Has it end: a fetch keeps what it has, any other phase publishes nothing. Returns at
        once; `result` raises Cancelled then, unless it was done before."""
        threading.Thread(target=self._cancel_until_done, name="cancel", daemon=True).start()

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the result; raises what went wrong, or TimeoutError."""
        if not self._is_done.wait(timeout):
            raise TimeoutError(f"{self.operation.name} is still running")
        if self._fault is not None:
            raise self._fault
        return self._result

    def _run(self, options: Any) -> None:
        try:
            self._result = perform(self.operation, self._work, options)
        except BaseException as fault:
            # whatever it dies of when it was cancelled, that is why
            if self._work.cancellation.is_asked and not isinstance(fault, Cancelled):
                cancelled = Cancelled(f"{self.operation.name}: cancelled")
                cancelled.__cause__ = fault
                self._fault = cancelled
            else:
                self._fault = fault
        finally:
            self._is_done.set()

    def _cancel_until_done(self) -> None:
        """Not once: a job that is just on its way to Spark is cancelled by none but a later
        word."""
        while not self.is_done:
            self._work.cancellation.cancel()
            self._is_done.wait(_CANCEL_AGAIN_S)
