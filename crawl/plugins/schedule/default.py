"""default: every page again after a fixed interval."""

from __future__ import annotations

from dataclasses import replace

from crawl.interfaces.schedule import PageChange
from crawl.model.datum import CrawlDatum
from crawl.plugins.schedule.base import BaseFetchSchedule


class DefaultFetchSchedule(BaseFetchSchedule):
    """Nutch's DefaultFetchSchedule."""

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
        interval = datum.fetch_interval or self._default
        changed = modified <= 0 or change is PageChange.MODIFIED
        return replace(
            datum,
            retries=0,
            fetch_interval=interval,
            fetch_time=fetched + interval * 1000,
            modified_time=fetched if changed else modified,
        )
