"""Whose Spark jobs are whose: the properties by which jobs are named, counted and cancelled.

A session may be somebody else's (a notebook's, a platform's) or run two crawls at once. So every
step has a job group that nobody else has, an operation of several threads has a tag by which its
jobs alone are cancelled, and the caller's own group, description and tags are given back.
"""

from __future__ import annotations

import itertools
import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from crawl.errors import Cancelled

if TYPE_CHECKING:
    from pyspark import SparkContext

_log = logging.getLogger(__name__)

_numbers = itertools.count(1)
_PROCESS = uuid.uuid4().hex[:8]
"""Platforms let several Python processes, each with a notebook, work in one JVM."""

_GROUP_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


class OperationJobs:
    """Work of one or several threads whose jobs are cancelled together."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._is_cancelled = threading.Event()
        self.tag = f"nutria-{uuid.uuid4().hex}"
        """What its jobs are known by."""

    def cancel(self) -> None:
        """Cancels its jobs and no others, and has it begin no more. May be called again: a job
        that was on its way to Spark meanwhile is not among those of the first time."""
        self._is_cancelled.set()
        with jvm_may_be_silent():
            self._context.cancelJobsWithTag(self.tag)

    def apart(self) -> OperationJobs:
        """Jobs of the same session that are cancelled apart from these."""
        return OperationJobs(self._context)

    @contextmanager
    def working(self) -> Iterator[None]:
        """The steps inside are these jobs."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def require_not_cancelled(self, step: str) -> None:
        """Raises Cancelled where there is no point in beginning the step."""
        if self._is_cancelled.is_set():
            raise Cancelled(f"{step}: cancelled")


_current: ContextVar[OperationJobs | None] = ContextVar("nutria_operation", default=None)


@contextmanager
def jobs_of_operation(context: SparkContext) -> Iterator[OperationJobs]:
    """All steps inside belong to the operation, those of threads too that work in a copy of the
    caller's context (`contextvars.copy_context`)."""
    begun = OperationJobs(context)
    with begun.working():
        yield begun


def new_group(step: str) -> str:
    """The name of a job group that nobody else has."""
    return f"{step} #{next(_numbers)} {_PROCESS}"


@contextmanager
def job_group(context: SparkContext, group: str, description: str) -> Iterator[None]:
    """Puts the jobs that this thread starts inside into the group, and the operation's tag on them.
    On any exception, Ctrl-C too, they are cancelled. What the caller had set comes back."""
    whole = _current.get()
    if whole is not None:
        whole.require_not_cancelled(description)
    before = {key: context.getLocalProperty(key) for key in _GROUP_PROPERTIES}
    context.setJobGroup(group, description, interruptOnCancel=True)
    tag = None if whole is None or whole.tag in context.getJobTags() else whole.tag
    if tag is not None:
        context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with jvm_may_be_silent():
            context.cancelJobGroup(group)
        with jvm_may_be_silent():
            _give_back(context, before, tag)
        raise
    _give_back(context, before, tag)


def _give_back(context: SparkContext, before: dict[str, str | None], tag: str | None) -> None:
    for key, value in before.items():
        context.setLocalProperty(key, value)  # type: ignore[arg-type]
    if tag is not None:
        context.removeJobTag(tag)


@contextmanager
def jvm_may_be_silent() -> Iterator[None]:
    """Keeps quiet about a JVM that does not answer while something else is on its way to the user:
    Ctrl-C leaves the connection in the middle of an answer, and must stay Ctrl-C."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    try:
        yield
    except (Py4JError, ConnectionError) as error:
        _log.debug("Spark's jobs could not be cancelled: %s", error)
