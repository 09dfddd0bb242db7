"""schedule: when is a URL due, and when again after it was fetched?"""

from __future__ import annotations

from enum import Enum
from typing import Any, Protocol

import pyarrow as pa

from crawl.config import Config
from crawl.model.datum import CrawlDatum


class PageChange(Enum):
    """Whether a fetch found the page changed since the fetch before."""

    UNKNOWN = 0
    MODIFIED = 1
    NOTMODIFIED = 2


class FetchSchedule(Protocol):
    """Sets due times and intervals. One schedule is active in a crawl.

    Every method returns a new datum; times are milliseconds since 1970 UTC.
    """

    def __init__(self, config: Config) -> None:
        """Reads its properties; raises ConfigError where they contradict each other."""

    def initialize(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        """A URL that is new to the CrawlDb: due `now`, no retries, the first interval."""
        ...

    def initialize_batch(self, datums: pa.Table, now: int) -> pa.Table | None:
        """`initialize` for a table of CrawlDb columns; None where the schedule can only answer
        by row."""
        return None

    def should_fetch(self, url: str, datum: CrawlDatum, now: int) -> bool:
        """Whether the URL is due at `now`."""
        ...

    def should_fetch_batch(self, datums: pa.Table, now: int) -> pa.Array[Any] | None:
        """`should_fetch` for a table of CrawlDb columns (`url` and `signature` may be missing),
        as a boolean array; None where the schedule can only answer by row."""
        return None

    def urgency(self, url: str, datum: CrawlDatum, now: int) -> float:
        """How much a fetch at `now` is worth beside the score: generate's rank is scoring's
        times this. Not negative; 1 at every moment where the schedule has no say."""
        return 1.0

    def urgency_batch(self, datums: pa.Table, now: int) -> pa.Array[Any] | None:
        """`urgency` for a table of CrawlDb columns (`url` and `signature` may be missing), as
        a float array. A schedule that overrides `urgency` overrides this too."""
        return None

    def after_fetch(
        self,
        url: str,
        datum: CrawlDatum,
        *,
        previous_modified: int,
        fetched: int,
        modified: int,
        change: PageChange,
    ) -> CrawlDatum:
        """The page was reached: success, redirect or not modified."""
        ...

    def after_gone(self, url: str, datum: CrawlDatum, *, fetched: int) -> CrawlDatum:
        """The page is gone, or cannot be parsed."""
        ...

    def after_retry(self, url: str, datum: CrawlDatum, *, fetched: int) -> CrawlDatum:
        """A passing error: one retry more."""
        ...

    def last_fetch_time(self, datum: CrawlDatum) -> int:
        """When the URL was last fetched, by its record; 0 for never."""
        ...

    def force_refetch(self, url: str, datum: CrawlDatum, now: int, *, asap: bool) -> CrawlDatum:
        """Forget what is known of the page so that it is fetched anew; `asap`: now."""
        ...
