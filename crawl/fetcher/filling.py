"""A chunk while it is filled: when it is full, and whether that is so soon that its answers
need not be noted."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.config import Config
from crawl.fetcher.journal import Notes
from crawl.fetcher.settings import (
    FETCHER_CHECKPOINT_BYTES,
    FETCHER_CHECKPOINT_RECORDS,
    FETCHER_CHECKPOINT_SECONDS,
    FETCHER_JOURNAL_SECONDS,
)

SOON_S = 1.0
"""A chunk that is full by then is committed rather than noted."""
_MANY_ROWS = 1_000
_MANY_BYTES = 32 << 20
"""A chunk with less is noted however soon it is full."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """When a chunk is full, and when what it gathers is noted in between."""

    records: int = 10_000
    bytes: int = 128 << 20
    seconds: float = 300.0
    journal_seconds: float = 0.0
    """0: at once where that is cheap. Negative: never noted."""

    @classmethod
    def of(cls, config: Config) -> ChunkSize:
        return cls(
            config[FETCHER_CHECKPOINT_RECORDS],
            config[FETCHER_CHECKPOINT_BYTES],
            config[FETCHER_CHECKPOINT_SECONDS],
            config[FETCHER_JOURNAL_SECONDS],
        )


@dataclass(slots=True)
class Filling:
    """The chunk that is being filled, as the fetch sees it."""

    notes: Notes
    rows: int = 0
    bytes: int = 0
    begun: float | None = None

    def is_full(self, size: ChunkSize) -> bool:
        return self.rows >= size.records or self.bytes >= size.bytes

    def will_be_full(self, size: ChunkSize, within: float, age: float) -> bool:
        """Whether it has gathered much and will be full by then, at its pace."""
        is_much = self.rows >= _MANY_ROWS or self.bytes >= _MANY_BYTES
        fullness = max(self.rows / size.records, self.bytes / size.bytes)
        return is_much and age < within and fullness * within >= age
