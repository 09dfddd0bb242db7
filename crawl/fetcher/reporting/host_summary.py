"""What became of the pages of the largest hosts, for the report of a fetch."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status

MAX_HOSTS = 50


@dataclass(slots=True)
class HostSummary:
    """One host's records of a run."""

    host: str
    pages: int = 0
    failed: int = 0
    """How many of the pages are to be tried again."""
    gone: int = 0
    bytes: int = 0
    response_ms: int = 0
    """The time of all answers together."""


class HostSummaries:
    """Adds up records by host."""

    def __init__(self) -> None:
        self._by_name: dict[str, HostSummary] = {}

    def observe(self, record: FetchRecord) -> None:
        status = record.datum.status
        if status is Status.LINKED:
            return
        summary = self._by_name.get(record.host)
        if summary is None:
            summary = self._by_name[record.host] = HostSummary(record.host)
        summary.pages += 1
        summary.failed += status is Status.FETCH_RETRY
        summary.gone += status is Status.FETCH_GONE
        summary.bytes += len(record.content.body) if record.content else 0
        summary.response_ms += record.response_ms or 0

    def largest(self) -> list[HostSummary]:
        """The hosts with the most records."""
        ordered = sorted(self._by_name.values(), key=lambda each: (-each.pages, each.host))
        return ordered[:MAX_HOSTS]
