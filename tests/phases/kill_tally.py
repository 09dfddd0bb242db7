"""What became of all crawls that were killed at random: kills by phase and way, and faults."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

SITES = 5
AT_STAKE = 2 * SITES
"""What one death may have asked for again: a request a host is under way, and an answer of each
may be on its way into the journal."""


@dataclass(slots=True)
class Tally:
    """What became of all crawls. A fault is a line that begins with the seed of its case."""

    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By the phase that was due when it died, and the way to die."""
    crawls: int = 0
    """Whole ones, until nothing was due."""
    phases: int = 0
    """Single commands that were killed, run again and compared with an undisturbed run."""
    lost: list[str] = field(default_factory=list)
    """Rows, pages, documents and records that are missing, and URLs of the web that the CrawlDb
    does not know, or not as what they are."""
    doubled: list[str] = field(default_factory=list)
    """Rows beyond the first of their key, and rows that nobody expects."""
    stale: list[str] = field(default_factory=list)
    """Rows that an undisturbed run on the same state has with another value."""
    damaged: list[str] = field(default_factory=list)
    """What `check --deep` finds at the end, and commands that do not go on."""
    asked_again: int = 0
    """Requests whose answers were lost."""
    most_asked_again: float = 0.0
    """Of one crawl, for each of its kills."""

    @property
    def deaths(self) -> int:
        return self.kills.total()

    @property
    def faults(self) -> list[str]:
        return [
            f"{kind}: {line}"
            for kind, lines in (
                ("lost", self.lost),
                ("doubled", self.doubled),
                ("stale", self.stale),
                ("damaged", self.damaged),
            )
            for line in lines
        ]

    @property
    def is_good(self) -> bool:
        return not self.faults and self.most_asked_again <= AT_STAKE
