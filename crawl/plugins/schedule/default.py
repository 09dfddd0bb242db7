"""default: every page again after a fixed interval."""

from __future__ import annotations

from crawl.model.datum import CrawlDatum
from crawl.model.value import replace
from crawl.plugins.schedule.base import BaseFetchSchedule, PageVisit


class DefaultFetchSchedule(BaseFetchSchedule):
    """Nutch's DefaultFetchSchedule."""

    def reschedule(self, datum: CrawlDatum, visit: PageVisit) -> CrawlDatum:
        interval = datum.fetch_interval or self._default
        return replace(
            datum,
            fetch_interval=interval,
            fetch_time=visit.fetched + interval * 1000,
            modified_time=visit.changed_at,
        )
