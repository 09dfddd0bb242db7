"""How far a running fetch is, by what its tasks last reported
(crawl/fetcher/reporting/task_monitor.py), so that another shell can ask too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from crawl.clock import SystemClock, as_text
from crawl.fetcher.reporting.task_monitor import read_report
from crawl.fetcher.task_spec import cross_part_number
from crawl.operations.events import Look
from crawl.printable import printable
from crawl.storage.segments import GENERATE, Segment

_KINDS_SHOWN = 3
_STALE_MS = 30_000
"""A task tells every few seconds how far it is."""


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """All parts together."""

    parts: int
    """Those that have reported anything yet."""
    total: int
    """The URLs of the list, and redirects and links that are followed."""
    done: int
    pages_per_s: float
    kb_per_s: float
    threads: int
    """With a request under way."""
    ready: int
    """Queues that could be asked now."""
    waiting: int
    """Queues whose pause is not over, or that are being asked."""
    errors: Counter[str]
    """By kind: `http_503`, `connect_timeout`."""
    longest_queue_s: float
    waits: tuple[dict[str, Any], ...] = ()
    """Servers that cannot be asked for a while, the first of them first: host, why, until_ms."""

    @classmethod
    def of(cls, parts: Sequence[dict[str, Any]], urls: int, now_ms: int = 0) -> FetchProgress:
        """`urls`: those of the list. What was reported long before `now_ms` says nothing
        about the present pace."""
        fresh = [part for part in parts if now_ms - part.get("told_ms", now_ms) <= _STALE_MS]

        def sum_of(name: str) -> float:
            return float(sum(part.get(name, 0) for part in parts))

        def rate(name: str) -> float:
            return float(sum(part.get(name, 0) for part in fresh if not part.get("ended")))

        errors: Counter[str] = Counter()
        for part in parts:
            errors.update(part.get("errors", {}))
        return cls(
            len(parts),
            urls + int(sum_of("followed")),
            int(sum_of("done")),
            rate("pages_per_s"),
            rate("kb_per_s"),
            int(sum_of("busy_threads")),
            int(sum_of("queues_ready")),
            int(sum_of("queues_waiting")),
            errors,
            max((part.get("longest_queue_s", 0.0) for part in parts), default=0.0),
            tuple(
                sorted(
                    (wait for part in parts for wait in part.get("waits", ())),
                    key=lambda wait: int(wait["until_ms"]),
                )
            ),
        )

    @property
    def seconds_left(self) -> float:
        """No less than the longest queue's own chain of pauses, nor than the rest takes at
        the present pace."""
        undone = max(0, self.total - self.done)
        return max(self.longest_queue_s, undone / self.pages_per_s if self.pages_per_s > 0 else 0.0)

    @property
    def pace(self) -> str:
        """How it goes; what is waited for comes first where nobody can be asked."""
        is_idle = not self.threads and not self.ready and self.waits
        rates = (
            f"{self.pages_per_s:,.0f} pages/s, {self.kb_per_s:,.0f} kB/s,"
            f" {self.threads:,} threads busy, {self.ready:,} queues ready,"
            f" {self.waiting:,} waiting{self._errors_text}"
        )
        if not self.waits:
            return rates
        return f"{self._waits_text}, {rates}" if is_idle else f"{rates}, {self._waits_text}"

    @property
    def remaining(self) -> str:
        return f"{timedelta(seconds=round(self.seconds_left))} to go"

    def __str__(self) -> str:
        return f"{self.done:,} of {self.total:,} URLs, {self.pace}, {self.remaining}"

    @property
    def _waits_text(self) -> str:
        wait = self.waits[0]
        until = as_text(int(wait["until_ms"])).split(" ", 1)[1]
        more = f" and {len(self.waits) - 1} more" if len(self.waits) > 1 else ""
        return f"waits for {printable(wait['host'])}{more} ({wait['why']}) until {until}"

    @property
    def _errors_text(self) -> str:
        if not self.errors:
            return ""
        kinds = [f"{kind} {count:,}" for kind, count in self.errors.most_common(_KINDS_SHOWN)]
        more = " …" if len(self.errors) > _KINDS_SHOWN else ""
        return f", {self.errors.total():,} errors ({' '.join(kinds)}{more})"


def progress_of(segment: Segment) -> FetchProgress:
    """What the tasks of a running fetch last reported."""
    generated = segment.require(GENERATE)
    reports = []
    for part in [*(file.part for file in generated.files), cross_part_number(generated.files)]:
        report = read_report(segment.folder, part)
        if report is not None and _is_usable(report):
            reports.append(report)
    return FetchProgress.of(reports, generated.rows, SystemClock().now_ms())


def fetch_look(segment: Segment) -> Look:
    """Says how far the fetch of a segment is, as soon as a task has reported anything."""

    def look() -> FetchProgress | None:
        progress = progress_of(segment)
        return progress if progress.parts else None

    return look


def _is_usable(content: dict[str, Any]) -> bool:
    """Whether a part's word can be shown; a damaged file is passed over."""
    try:
        str(FetchProgress.of([content], 0))
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        return False
    return True
