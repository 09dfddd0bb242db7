"""Section 7 of the reference, line by line."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.interfaces.schedule import PageChange
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import DB_STATUSES, Status
from crawl.plugins.schedule.default import DefaultFetchSchedule
from crawl.testing.inputs.odd_datums import NOW
from crawl.testing.schedule_contract import FetchScheduleContract
from tests.examples import scaled
from tests.model.datums import datums

DAY_MS = 86_400_000
DEFAULT = 100
MOST = 1000
SCHEDULE = DefaultFetchSchedule(
    Config.of({"db.fetch.interval.default": DEFAULT, "db.fetch.interval.max": MOST})
)
PAGE = CrawlDatum(
    Status.DB_FETCHED,
    fetch_time=NOW,
    modified_time=7,
    fetch_interval=200,
    retries=2,
    score=1.5,
    signature=b"s",
    metadata={"a": "b"},
)


class TestDefaultFetchSchedule(FetchScheduleContract):
    plugin_class = DefaultFetchSchedule


class TestWithOtherIntervals(FetchScheduleContract):
    plugin_class = DefaultFetchSchedule

    def config(self) -> Config:
        return Config.of({"db.fetch.interval.default": 1, "db.fetch.interval.max": 2})


def test_initialize() -> None:
    assert SCHEDULE.initialize("u", PAGE, 50) == replace(
        PAGE, fetch_time=50, fetch_interval=DEFAULT, retries=0
    )


@pytest.mark.parametrize(
    ("fetch_time", "due"),
    [
        (0, True),
        (NOW - 1, True),
        (NOW, True),
        (NOW + 1, False),
        (NOW + MOST * 1000, False),
        (NOW + MOST * 1000 + 1, True),
        (NOW + 10**13, True),
    ],
)
def test_due_now_or_beyond_all_bounds(fetch_time: int, due: bool) -> None:
    datum = replace(PAGE, fetch_time=fetch_time)
    assert SCHEDULE.should_fetch("u", datum, NOW) is due


@given(st.lists(datums, max_size=6), st.integers(0, 10**14))
@settings(max_examples=scaled(100))
def test_the_column_answers_as_the_rows(some: list[CrawlDatum], now: int) -> None:
    table = to_table(("u", "h", datum) for datum in some)
    answers = SCHEDULE.should_fetch_batch(table, now)
    assert isinstance(answers, pa.Array)
    assert answers.to_pylist() == [SCHEDULE.should_fetch("u", datum, now) for datum in some]


@pytest.mark.parametrize(
    ("interval", "modified", "change", "next_interval", "next_modified"),
    [
        (200, 7, PageChange.UNKNOWN, 200, 7),
        (200, 7, PageChange.NOTMODIFIED, 200, 7),
        (200, 7, PageChange.MODIFIED, 200, NOW),
        (200, 0, PageChange.UNKNOWN, 200, NOW),
        (200, 0, PageChange.NOTMODIFIED, 200, NOW),
        (200, -1, PageChange.NOTMODIFIED, 200, NOW),
        (0, 7, PageChange.UNKNOWN, DEFAULT, 7),
    ],
)
def test_after_fetch(
    interval: int, modified: int, change: PageChange, next_interval: int, next_modified: int
) -> None:
    datum = replace(PAGE, fetch_interval=interval)
    after = SCHEDULE.after_fetch(
        "u", datum, previous_modified=3, fetched=NOW, modified=modified, change=change
    )
    assert after == replace(
        PAGE,
        retries=0,
        fetch_interval=next_interval,
        fetch_time=NOW + next_interval * 1000,
        modified_time=next_modified,
    )


@pytest.mark.parametrize(
    ("interval", "longer"),
    [
        (200, 300),
        (0, 150),  # none: the default one, or it would be due at once for ever
        (3, 4),
        (666, 999),
        (667, 900),
        (1000, 900),
        (2**31 - 1, 900),
    ],
)
def test_after_gone(interval: int, longer: int) -> None:
    datum = replace(PAGE, fetch_interval=interval)
    assert SCHEDULE.after_gone("u", datum, fetched=NOW) == replace(
        PAGE, fetch_interval=longer, fetch_time=NOW + longer * 1000
    )


def test_after_retry() -> None:
    assert SCHEDULE.after_retry("u", PAGE, fetched=NOW) == replace(
        PAGE, fetch_time=NOW + DAY_MS, retries=3
    )


@pytest.mark.parametrize("status", DB_STATUSES)
def test_last_fetch_time(status: Status) -> None:
    expected = 0 if status is Status.DB_UNFETCHED else NOW - 200_000
    assert SCHEDULE.last_fetch_time(replace(PAGE, status=status)) == expected


@pytest.mark.parametrize(("interval", "kept"), [(200, 200), (950, 950), (1000, 1000), (1001, 900)])
@pytest.mark.parametrize("asap", [False, True])
def test_force_refetch(interval: int, kept: int, asap: bool) -> None:
    datum = replace(PAGE, fetch_interval=interval, fetch_time=NOW + 5)
    assert SCHEDULE.force_refetch("u", datum, NOW, asap=asap) == CrawlDatum(
        Status.DB_UNFETCHED,
        fetch_time=NOW if asap else NOW + 5,
        modified_time=0,
        fetch_interval=kept,
        retries=0,
        score=1.5,
        signature=None,
        metadata={"a": "b"},
    )
