"""A page's two virtual years: visits when it is due, and what the CrawlDb says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.phases.updatedb.rules import UpdateRules, UrlUpdate, update_record

START = 1_800_000_000_000
DAY = 86_400_000
TWO_YEARS = 730
Answer = tuple[Status, bytes | None]
"""What the server says, and the signature of the page that it brings."""


def lived(answer: Callable[[int], Answer], **settings: object) -> list[tuple[int, CrawlDatum]]:
    """(day of the visit, record after it) for each visit; the page is asked when it is due."""
    config = Config.of({"db.fetch.interval.default": "10d", **settings})
    datum = CrawlDatum(Status.DB_UNFETCHED, START, fetch_interval=10 * 86_400, score=1.0)
    visits: list[tuple[int, CrawlDatum]] = []
    while datum.fetch_time < START + TWO_YEARS * DAY:
        now = datum.fetch_time
        day = (now - START) // DAY
        status, signature = answer(day)
        fetch = CrawlDatum(
            status, now, datum.modified_time, 1, datum.retries, datum.score, None, datum.metadata
        )
        url_update = UrlUpdate(fetch, signature)
        after = update_record(
            "http://a/", datum, url_update, UpdateRules.of(config, now), Counters()
        ).datum
        assert after is not None and after.fetch_time > now
        datum = after
        visits.append((day, datum))
    return visits


def statuses(visits: list[tuple[int, CrawlDatum]]) -> list[Status]:
    return [datum.status for _, datum in visits]


def test_a_page_that_changes_at_times_and_a_server_that_says_so() -> None:
    version = [b"1", b"2", b"3"]
    history = lived(
        lambda day: (
            (Status.FETCH_SUCCESS, version[day // 300])
            if day % 300 < 10
            else (Status.FETCH_NOTMODIFIED, None)
        )
    )
    compared = lived(lambda day: (Status.FETCH_SUCCESS, version[day // 300]))
    assert history == compared  # a 304 and an equal signature are the same news
    assert len(history) == 73
    assert Counter(statuses(history)) == {Status.DB_FETCHED: 3, Status.DB_NOTMODIFIED: 70}
    changes = sorted({datum.modified_time for _, datum in history})
    assert changes == [START + day * DAY for day in (0, 300, 600)]


def test_a_page_that_goes_and_comes_back() -> None:
    visits = lived(
        lambda day: (Status.FETCH_GONE, None) if 100 <= day < 200 else (Status.FETCH_SUCCESS, b"1")
    )
    gone = [datum for _, datum in visits if datum.status is Status.DB_GONE]
    assert {datum.signature for datum in gone} == {b"1"}
    # asked less and less often while it is away
    assert [datum.fetch_interval // 8640 for datum in gone] == [150, 225, 337, 506]
    back = statuses(visits)[statuses(visits).index(Status.DB_GONE) + len(gone)]
    assert back is Status.DB_NOTMODIFIED
    assert Status.DB_GONE not in statuses(visits)[-5:]


def test_a_server_that_is_down_for_a_while() -> None:
    visits = lived(
        lambda day: (Status.FETCH_RETRY, None) if 50 <= day < 52 else (Status.FETCH_SUCCESS, b"1")
    )
    down = [(day, datum.status, datum.retries) for day, datum in visits if 50 <= day <= 52]
    assert down == [
        (50, Status.DB_UNFETCHED, 1),
        (51, Status.DB_UNFETCHED, 2),
        (52, Status.DB_NOTMODIFIED, 0),
    ]


@pytest.mark.parametrize("most", [1, 3, 5])
def test_a_server_that_is_down_for_good(most: int) -> None:
    visits = lived(lambda day: (Status.FETCH_RETRY, None), **{"db.fetch.retry.max": most})
    found = statuses(visits)
    assert found[: most - 1] == [Status.DB_UNFETCHED] * (most - 1)
    assert set(found[most - 1 :]) == {Status.DB_GONE}
    assert max(datum.retries for _, datum in visits) == most
    # never given up for ever: at least once in the longest interval
    days = [day for day, _ in visits]
    assert max(later - day for day, later in pairwise(days)) <= 90
