"""Where in a crawl this thread is: what a log line, a span and Spark's pages say of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class CrawlContext:
    """From the whole to its part; empty where it is not known."""

    command: str = ""
    crawl: str = ""
    """The address of the crawl's folder."""
    round: int | None = None
    phase: str = ""
    segment: str = ""
    step: str = ""
    part: int | None = None
    """Of a fetch list, or the bucket of the CrawlDb."""

    def as_dict(self) -> dict[str, Any]:
        """What is known."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in known.items() if value not in ("", None)}


_NOWHERE = CrawlContext()
_here: ContextVar[CrawlContext] = ContextVar("nutria_where", default=_NOWHERE)
_process = _NOWHERE


def current_context() -> CrawlContext:
    """Of this thread; of the process, where the thread was told nothing."""
    here = _here.get()
    return _process if here is _NOWHERE else here


@contextmanager
def in_context(place: CrawlContext | None = None, **changes: Any) -> Iterator[CrawlContext]:
    """Inside, `where()` is the given place, or the present one with these changes."""
    now = replace(place or current_context(), **changes)
    token = _here.set(now)
    try:
        yield now
    finally:
        _here.reset(token)


def update_context(**changes: Any) -> None:
    """Something that was found out about the place, until the `in_context` around it ends."""
    _here.set(replace(current_context(), **changes))


@contextmanager
def process_context(place: CrawlContext) -> Iterator[None]:
    """What threads say that were told nothing: those of a process with one task at a time."""
    global _process
    before, _process = _process, place
    try:
        with in_context(place):
            yield
    finally:
        _process = before


def describe_step(step: str) -> str:
    """A step of this crawl in a line: `updatedb: merge · s3://b/crawl · 20261115093000`."""
    here = current_context()
    named = step if ":" in step else f"{here.phase or here.command or step}: {step}"
    return " · ".join(filter(None, (named, here.crawl, here.segment)))
