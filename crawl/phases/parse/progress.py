"""How many pages a running parse has done, by the marks of its tasks (run.py)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from crawl.clock import Clock
from crawl.operations.events import Look
from crawl.phases.parse.run import pages_done
from crawl.storage.segments import CONTENT, Segment


@dataclass(frozen=True, slots=True)
class ParseProgress:
    """All tasks together."""

    done: int
    total: int
    pages_per_s: float
    """Since somebody looks; 0 where that is not known."""

    @property
    def pace(self) -> str:
        return f"{self.pages_per_s:,.0f} pages/s" if self.pages_per_s else ""

    @property
    def remaining(self) -> str:
        if not self.pages_per_s:
            return ""
        undone = max(0, self.total - self.done)
        return f"{timedelta(seconds=round(undone / self.pages_per_s))} to go"

    def __str__(self) -> str:
        pages = f"{self.done:,} of {self.total:,} pages"
        return f"{pages}, {self.pace}, {self.remaining}" if self.pages_per_s else pages


def progress_of(segment: Segment, seconds: float = 0.0) -> ParseProgress:
    """How far a running parse is; `seconds`: since it began."""
    pages_parsed, pages = pages_done(segment), segment.require(CONTENT).rows
    return ParseProgress(pages_parsed, pages, pages_parsed / seconds if seconds > 0 else 0.0)


def parse_look(segment: Segment, clock: Clock) -> Look:
    """Says how far the parse of a segment is that begins now."""
    began = clock.monotonic()
    return lambda: progress_of(segment, clock.monotonic() - began)
