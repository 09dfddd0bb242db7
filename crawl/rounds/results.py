"""The results of rounds, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawl.driver.behind import BehindTable
from crawl.operations.results import html_table
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


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run over rounds did."""

    ending: str
    """Why there was no further round: `rounds_done`, `nothing_due`, `stop_file` …"""
    rounds: tuple[RoundResult, ...]
    hosts_waiting: int = 0
    """Hosts with due URLs that the last generate left out, because they answer nothing."""
    next_host_ms: int | None = None
    """When the first of them may be asked again, in milliseconds since 1970."""
    is_started: bool = True
    """False where a stop file was there before the first step."""
    after: tuple[AfterResult, ...] = ()
    """What followed the rounds, each time that it did."""
    behind: tuple[BehindTable, ...] = ()
    """The tables that the rounds have left behind."""

    def _repr_html_(self) -> str:
        counts = ("fetched", "new", "gone", "retried", "redirects", "left_for_later")
        columns = ["round", *(name.replace("_", " ") for name in counts)]
        rows = [[each.number, *(getattr(each, name) for name in counts)] for each in self.rounds]
        return html_table(f"run: {self.ending.replace('_', ' ')}", columns, rows)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step of a plan."""

    when: str
    """In words, such as `each round`."""
    step: str
    command: tuple[str, ...]
    """The command line that does the same, without the program."""
