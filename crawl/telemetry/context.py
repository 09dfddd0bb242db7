"""Where in a crawl this thread is: what a log line, a span and Spark's pages say of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Where:
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


_NOWHERE = Where()
_here: ContextVar[Where] = ContextVar("nutria_where", default=_NOWHERE)
_process = _NOWHERE


def where() -> Where:
    """Of this thread; of the process, where the thread was told nothing."""
    here = _here.get()
    return _process if here is _NOWHERE else here


@contextmanager
def at(place: Where | None = None, **changes: Any) -> Iterator[Where]:
    """Inside, `where()` is the given place, or the present one with these changes."""
    now = replace(place or where(), **changes)
    token = _here.set(now)
    try:
        yield now
    finally:
        _here.reset(token)


def note(**changes: Any) -> None:
    """Something that was found out about the place, until the `at` around it ends."""
    _here.set(replace(where(), **changes))


@contextmanager
def process_at(place: Where) -> Iterator[None]:
    """What threads say that were told nothing: those of a process with one task at a time."""
    global _process
    before, _process = _process, place
    try:
        with at(place):
            yield
    finally:
        _process = before


def described(step: str) -> str:
    """A step of this crawl in a line: `updatedb: merge · s3://b/crawl · 20261115093000`."""
    here = where()
    named = step if ":" in step else f"{here.phase or here.command or step}: {step}"
    return " · ".join(filter(None, (named, here.crawl, here.segment)))
