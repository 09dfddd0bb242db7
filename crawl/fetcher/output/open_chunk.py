"""A chunk that is being filled: when it is full, and whether it is filled so quickly that its
answers need not be noted in the journal."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.config import Config
from crawl.fetcher.output.journal import ChunkJournal
from crawl.fetcher.values import settings

SOON_S = 1.0
"""How long answers may wait to be committed rather than noted."""
_QUICK_ROWS = 2_000
_QUICK_BYTES = 64 << 20
"""So many in a second: one commit of them costs far less than their notes."""
QUICK_COMMIT_S = 0.25
"""Where a commit takes longer, the fetch would wait for it most of the time."""
_MIN_AGE_S = 0.5
"""The rate is taken over this at the least: what comes at once may be all that comes."""


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
            config[settings.FETCHER_CHECKPOINT_RECORDS],
            config[settings.FETCHER_CHECKPOINT_BYTES],
            config[settings.FETCHER_CHECKPOINT_SECONDS],
            config[settings.FETCHER_JOURNAL_SECONDS],
        )


@dataclass(slots=True)
class OpenChunk:
    """What the chunk that is being filled has gathered so far."""

    journal: ChunkJournal
    rows: int = 0
    bytes: int = 0
    begun: float | None = None

    def is_full(self, size: ChunkSize) -> bool:
        return self.rows >= size.records or self.bytes >= size.bytes

    def is_quick(self, age: float) -> bool:
        """Whether answers come so quickly that a commit each second costs less than their notes."""
        seconds = max(_MIN_AGE_S, age)
        return self.rows >= _QUICK_ROWS * seconds or self.bytes >= _QUICK_BYTES * seconds
