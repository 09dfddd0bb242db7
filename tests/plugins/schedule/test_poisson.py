from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.schedule import PageChange
from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.schedule.poisson import VISITS_KEY, PoissonFetchSchedule
from crawl.testing.inputs.odd_datums import NOW
from crawl.testing.schedule_contract import FetchScheduleContract
from tests.examples import scaled
from tests.model.datums import datums

DAY_MS = 86_400_000
URL = "http://a/"
NEW = CrawlDatum(Status.DB_FETCHED, NOW, retries=2, score=1.5, metadata={"k": "v"})
KEY = "db.fetch.schedule.poisson."
POISSON = PoissonFetchSchedule(Config.of({KEY + "memory": 0}))


def visited(
    schedule: PoissonFetchSchedule, datum: CrawlDatum, day: float, change: PageChange
) -> CrawlDatum:
    return schedule.after_fetch(
        URL,
        datum,
        previous_modified=datum.modified_time,
        fetched=NOW + round(day * DAY_MS),
        modified=datum.modified_time,
        change=change,
    )


def watched(
    schedule: PoissonFetchSchedule, changes: list[PageChange], every: float = 10
) -> CrawlDatum:
    datum = visited(schedule, NEW, 0, PageChange.UNKNOWN)
    for number, change in enumerate(changes, start=1):
        datum = visited(schedule, datum, number * every, change)
    return datum


def days_of(datum: CrawlDatum) -> float:
    return datum.fetch_interval / 86400


class TestPoissonFetchSchedule(FetchScheduleContract):
    plugin_class = PoissonFetchSchedule

    def samples(self) -> list[CrawlDatum]:
        return [
            replace(NEW, metadata={VISITS_KEY: text})
            for text in (
                "1800000000 1.000000 5.000000",
                "0 0.000000 0.000000",
                "999999999999 999999999999999.9 0.000001",
                "1800000000 1 5",
                "1800000000 1.0 5.0\n",
                "1800000000  1.0 5.0",
                "-5 1.0 5.0",
                "٣ 1.0 5.0",
                "",
            )
        ]


class TestWithOtherSettings(TestPoissonFetchSchedule):
    def config(self) -> Config:
        return Config.of(
            {
                KEY + "mean_interval": "2h",
                KEY + "min_interval": "1h",
                KEY + "max_interval": "1h",
                KEY + "shape": 5.0,
                KEY + "memory": 1,
            }
        )


def test_the_first_visit_knows_nothing_of_the_page() -> None:
    first = visited(POISSON, NEW, 0, PageChange.UNKNOWN)
    assert first.metadata == {"k": "v", VISITS_KEY: "1800000000 0.250000 7.500000"}
    assert first.fetch_time == NOW + first.fetch_interval * 1000
    assert (first.retries, first.modified_time) == (0, NOW)
    assert 20 < days_of(first) < 40  # the budget is 30 days


def test_a_page_that_never_changes_is_visited_ever_more_seldom() -> None:
    intervals = [days_of(watched(POISSON, [PageChange.NOTMODIFIED] * count)) for count in range(6)]
    assert intervals == sorted(intervals)
    assert intervals[5] > 1.5 * intervals[0]


def test_a_page_that_changes_now_and_then_is_visited_more_often() -> None:
    static = watched(POISSON, [PageChange.NOTMODIFIED] * 12)
    lively = watched(POISSON, [PageChange.NOTMODIFIED, PageChange.MODIFIED] * 6)
    assert days_of(lively) < 30 < days_of(static)


def test_a_page_that_the_budget_cannot_follow_is_left_for_the_end() -> None:
    restless = watched(POISSON, [PageChange.MODIFIED] * 60, every=0.5)
    assert days_of(restless) == 90


def test_what_cannot_be_compared_teaches_nothing_but_the_time() -> None:
    before = watched(POISSON, [PageChange.MODIFIED])
    after = visited(POISSON, before, 50, PageChange.UNKNOWN)
    known, unknown = before.metadata[VISITS_KEY], after.metadata[VISITS_KEY]
    assert known.split()[1:] == unknown.split()[1:]
    assert after.fetch_interval == before.fetch_interval
    assert int(unknown.split()[0]) == NOW // 1000 + 50 * 86400


def test_memory_lets_a_page_change_its_habits() -> None:
    forgetful = PoissonFetchSchedule(Config.of({KEY + "memory": 5}))
    habits = [PageChange.MODIFIED] * 20 + [PageChange.NOTMODIFIED] * 10
    assert days_of(watched(forgetful, habits)) > days_of(watched(POISSON, habits))


def test_a_fixed_interval_is_kept() -> None:
    fixed = replace(NEW, metadata={FIXED_INTERVAL_KEY: "60"})
    assert visited(POISSON, fixed, 0, PageChange.UNKNOWN).fetch_interval == 60


def test_a_smaller_budget_means_longer_intervals() -> None:
    for changes in ([], [PageChange.NOTMODIFIED] * 3, [PageChange.MODIFIED]):
        rich = watched(PoissonFetchSchedule(Config.of({KEY + "mean_interval": "5d"})), changes)
        poor = watched(PoissonFetchSchedule(Config.of({KEY + "mean_interval": "60d"})), changes)
        assert rich.fetch_interval < poor.fetch_interval


def test_when_a_page_is_due_its_visit_is_worth_the_price_and_then_more() -> None:
    page = watched(POISSON, [PageChange.NOTMODIFIED, PageChange.MODIFIED])
    assert POISSON.urgency(URL, page, page.fetch_time) == pytest.approx(1.0, rel=1e-3)
    assert POISSON.urgency(URL, page, page.fetch_time + 20 * DAY_MS) > 1.1
    assert POISSON.urgency(URL, page, 0) == 0.0


def test_what_was_never_visited_comes_before_what_is_just_due() -> None:
    assert POISSON.urgency(URL, NEW, NOW) > 1.5


def test_a_new_url_inherits_no_visits() -> None:
    page = watched(POISSON, [PageChange.MODIFIED])
    assert POISSON.initialize(URL, page, NOW).metadata == {"k": "v"}


def test_bounds_that_contradict_each_other_are_reported() -> None:
    with pytest.raises(ConfigError, match="min_interval is longer than"):
        PoissonFetchSchedule(Config.of({KEY + "min_interval": "91d"}))


@given(
    st.lists(st.tuples(st.floats(0, 800), st.sampled_from(PageChange)), max_size=12),
    datums,
)
@settings(max_examples=scaled(60))
def test_whatever_happens_the_next_visit_is_within_bounds(
    visits: list[tuple[float, PageChange]], datum: CrawlDatum
) -> None:
    day = 0.0
    for wait, change in visits:
        day += wait
        datum = visited(POISSON, datum, day, change)
        assert 3600 <= datum.fetch_interval <= 7_776_000 or FIXED_INTERVAL_KEY in datum.metadata
    now = NOW + round((day + 50) * DAY_MS)
    (column,) = POISSON.urgency_batch(to_table([(URL, "a", datum)]), now).to_pylist()
    assert column == pytest.approx(POISSON.urgency(URL, datum, now))
