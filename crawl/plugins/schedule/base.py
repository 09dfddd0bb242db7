"""What all built-in schedules share: Nutch's AbstractFetchSchedule."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT, DB_FETCH_INTERVAL_MAX
from crawl.config.property import LONGEST_INTERVAL
from crawl.interfaces.active_schedule import with_times
from crawl.interfaces.schedule import FetchSchedule, PageChange
from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.model.table import TIMESTAMP
from crawl.model.value import replace

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One successful fetch of a page, as a schedule sees it."""

    url: str
    fetched: int
    modified: int
    """By the server's word, or by what was known before; 0: not known."""
    change: PageChange

    @property
    def changed_at(self) -> int:
        """When the page last changed, as far as anybody knows now."""
        is_new = self.modified <= 0 or self.change is PageChange.MODIFIED
        return self.fetched if is_new else self.modified


class BaseFetchSchedule(FetchSchedule):
    """Everything of a schedule but `reschedule`, which each plugin adds."""

    def __init__(self, config: Config) -> None:
        self._default = int(config[DB_FETCH_INTERVAL_DEFAULT])
        self._max = int(config[DB_FETCH_INTERVAL_MAX])

    def initialize(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        return replace(datum, fetch_time=now, fetch_interval=self._default, retries=0)

    def initialize_batch(self, datums: pa.Table, now: int) -> pa.Table:
        return with_times(datums, now, self._default)

    def should_fetch(self, url: str, datum: CrawlDatum, now: int) -> bool:
        # a due time beyond the longest interval was set under other settings: mend it
        return datum.fetch_time <= now or datum.fetch_time - now > self._max * 1000

    def should_fetch_batch(self, datums: pa.Table, now: int) -> pa.Array[Any]:
        due = datums["fetch_time"].combine_chunks()
        beyond = now + self._max * 1000
        return pc.or_(
            pc.less_equal(due, pa.scalar(now, TIMESTAMP)),
            pc.greater(due, pa.scalar(beyond, TIMESTAMP)),
        )

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
        return self.reschedule(replace(datum, retries=0), PageVisit(url, fetched, modified, change))

    @abstractmethod
    def reschedule(self, datum: CrawlDatum, visit: PageVisit) -> CrawlDatum:
        """The record with its next interval, due time and `modified_time`."""

    def after_gone(self, url: str, datum: CrawlDatum, *, fetched: int) -> CrawlDatum:
        longer = int((datum.fetch_interval or self._default) * 1.5)
        interval = longer if longer < self._max else int(self._max * 0.9)
        return replace(datum, fetch_interval=interval, fetch_time=fetched + interval * 1000)

    def after_retry(self, url: str, datum: CrawlDatum, *, fetched: int) -> CrawlDatum:
        return replace(datum, fetch_time=fetched + DAY_MS, retries=datum.retries + 1)

    def last_fetch_time(self, datum: CrawlDatum) -> int:
        if datum.status is Status.DB_UNFETCHED:
            return 0
        return datum.fetch_time - datum.fetch_interval * 1000

    def force_refetch(self, url: str, datum: CrawlDatum, now: int, *, asap: bool) -> CrawlDatum:
        within = datum.fetch_interval <= self._max
        interval = datum.fetch_interval if within else int(self._max * 0.9)
        # a due time beyond the longest interval would count as due at once, round by round
        due = min(datum.fetch_time, now + interval * 1000)
        return replace(
            datum,
            status=Status.DB_UNFETCHED,
            fetch_interval=interval,
            fetch_time=now if asap else due,
            retries=0,
            signature=None,
            modified_time=0,
        )


def fixed_interval(datum: CrawlDatum) -> int | None:
    """The interval that a seed line insists on, in seconds; None where it does not."""
    text = datum.metadata.get(FIXED_INTERVAL_KEY)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return None
    return round(seconds) if math.isfinite(seconds) and 1 <= seconds <= LONGEST_INTERVAL else None
