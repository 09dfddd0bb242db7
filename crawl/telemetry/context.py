"""The context of a thread: which step of which crawl it works on, for log lines, spans and Spark's
pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class CrawlContext:
    """Where in a crawl a piece of work belongs, from the whole to its part; what is not known is
    empty."""

    command: str = ""
    crawl: str = ""
    """The address of the crawl's folder."""
    round: int | None = None
    phase: str = ""
    segment: str = ""
    step: str = ""
    part: int | None = None
    """The part of a fetch list, or the bucket of the CrawlDb."""

    def as_dict(self) -> dict[str, Any]:
        """What is known."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value not in ("", None)}


_NO_CONTEXT = CrawlContext()
_current: ContextVar[CrawlContext] = ContextVar("nutria_context", default=_NO_CONTEXT)
_process = _NO_CONTEXT


def current_context() -> CrawlContext:
    """The context of this thread, or of the process where the thread has none."""
    context = _current.get()
    return _process if context is _NO_CONTEXT else context


@contextmanager
def in_context(context: CrawlContext | None = None, **changes: Any) -> Iterator[CrawlContext]:
    """Sets the context for a block: the given one, or the current one with these changes."""
    now = replace(context or current_context(), **changes)
    token = _current.set(now)
    try:
        yield now
    finally:
        _current.reset(token)


def update_context(**changes: Any) -> None:
    """Changes the context of this thread until the `in_context` around it ends."""
    _current.set(replace(current_context(), **changes))


@contextmanager
def process_context(context: CrawlContext) -> Iterator[None]:
    """Sets the context of all threads that have none of their own: for a process that runs one task
    at a time."""
    global _process
    before, _process = _process, context
    try:
        with in_context(context):
            yield
    finally:
        _process = before


def describe_step(step: str) -> str:
    """One line about a step of this crawl: `updatedb: merge · s3://b/crawl · 20261115093000`."""
    here = current_context()
    named = step if ":" in step else f"{here.phase or here.command or step}: {step}"
    return " · ".join(filter(None, (named, here.crawl, here.segment)))
