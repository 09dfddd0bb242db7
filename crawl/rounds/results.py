"""The results of rounds, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawl.rounds.steps import StopReason


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The result of one round: numbers of URLs by what became of them."""

    number: int
    segments: tuple[str, ...]
    fetched: int
    not_modified: int
    """By the server's word, or because the page was the same."""
    redirects: int
    gone: int
    retried: int
    left_for_later: int
    """URLs that could not be fetched now and stay due: `handed_back` of the fetch, for any
    reason."""
    new: int
    """URLs that the CrawlDb did not know before."""
    pages_truncated: int
    """Whose body was longer than http.content.limit allows, or the like."""
    links_over_limit: int
    """Dropped because their pages have more than db.max.outlinks.per.page."""
    records: int
    """All that the fetches wrote down."""
    fetch_s: float
    """Seconds of the fetches, by their own reports."""
    db_urls: int
    db_bytes: int
    seconds: dict[str, float]
    """Spent on each step by this process."""

    @property
    def pages_per_s(self) -> float:
        return self.records / self.fetch_s if self.fetch_s else 0.0


@dataclass(frozen=True, slots=True)
class AfterResult:
    """What a step did that follows the rounds."""

    step: str
    is_done: bool
    """False where it had nothing to do."""
    seconds: float = 0.0
    counters: dict[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    reason: str = ""
    """Why it had nothing to do."""


@dataclass(frozen=True, slots=True)
class LoopResult:
    """Why the loop ended, and the rounds that it closed."""

    ending: StopReason
    rounds: tuple[RoundResult, ...]
    hosts_waiting: int = 0
    """Hosts with due URLs that the last generate left out, because they answer nothing."""
    next_host_ms: int | None = None
    """When the first of them may be asked again."""
    after: tuple[AfterResult, ...] = ()
    """What followed the rounds, each time that it did."""
