"""Records at the edges of what the CrawlDb can hold, for the contract suites."""

from __future__ import annotations

from itertools import product

from crawl.model.datum import FIXED_INTERVAL_KEY, GENERATE_TIME_KEY, CrawlDatum
from crawl.model.status import DB_STATUSES, Status

NOW = 1_800_000_000_000
DAY_S = 86_400
_TIMES = (0, 1, NOW - 1, NOW, NOW + 1, NOW + 40 * DAY_S * 1000, NOW + 10_000 * DAY_S * 1000)
_INTERVALS = (0, 1, DAY_S, 90 * DAY_S, 2**31 - 1)
_SCORES = (0.0, 1.0, -2.5, 0.1, 1e-30, 3e38)


def odd_datums() -> list[CrawlDatum]:
    """Every status, due times around `NOW`, and the smallest and largest of each value."""
    by_time = [
        CrawlDatum(Status.DB_FETCHED, time, time, interval, score=1.0, signature=b"s")
        for time, interval in product(_TIMES, _INTERVALS)
    ]
    by_status = [CrawlDatum(status, NOW, NOW - 5, DAY_S, retries=3) for status in DB_STATUSES]
    by_score = [CrawlDatum(Status.DB_UNFETCHED, NOW, score=score) for score in _SCORES]
    by_metadata = [
        CrawlDatum(Status.DB_UNFETCHED, NOW, fetch_interval=DAY_S, metadata=metadata)
        for metadata in (
            {GENERATE_TIME_KEY: str(NOW), FIXED_INTERVAL_KEY: "60"},
            {FIXED_INTERVAL_KEY: "soon", "": "", "Content-Type": "text/html"},
        )
    ]
    return [*by_time, *by_status, *by_score, *by_metadata]
