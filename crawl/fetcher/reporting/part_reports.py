"""The last reports of a fetch's tasks (task_monitor.py), read by the driver."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from crawl.errors import CrawlError
from crawl.fetcher.reporting.task_monitor import read_report
from crawl.storage.folder import Folder
from crawl.storage.segments import PartFile

_READERS = 8
"""A store answers slowly, and many at once."""


class PartReports:
    """The progress reports of the parts of a fetch; those that are there when it is made are of an
    earlier one."""

    def __init__(self, segment: Folder, parts: Sequence[PartFile]) -> None:
        self._segment = segment
        self._parts = parts
        self._before: frozenset[str] = frozenset()
        self._before = frozenset(str(report.get("run")) for report in self.read())

    def read(self) -> list[dict[str, Any]]:
        """The last report of every part that has written one."""
        with ThreadPoolExecutor(min(_READERS, max(1, len(self._parts)))) as readers:
            reports = list(readers.map(self._report_of, self._parts))
        return [
            report
            for report in reports
            if report is not None and str(report.get("run")) not in self._before
        ]

    def _report_of(self, part: PartFile) -> dict[str, Any] | None:
        try:
            return read_report(self._segment, part.part)
        except CrawlError:
            return None  # a passing fault of the store
