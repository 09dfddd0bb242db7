"""Section 7 of the reference, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.schedule import PageChange
from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.plugins.schedule.adaptive import AdaptiveFetchSchedule
from crawl.testing.inputs.odd_datums import NOW
from crawl.testing.schedule_contract import FetchScheduleContract
from tests.examples import scaled
from tests.model.datums import datums

URL = "http://news.example.org/a"
HOUR = 3600
PAGE = CrawlDatum(
    Status.DB_FETCHED, NOW, modified_time=NOW, fetch_interval=10 * HOUR, retries=2, score=1.5
)
KEY = "db.fetch.schedule.adaptive."


def adaptive(
    settings: dict[str, object] | None = None, hosts: str = "", mimes: str = ""
) -> AdaptiveFetchSchedule:
    return AdaptiveFetchSchedule(
        Config.of(
            settings or {},
            files={
                "adaptive-host-specific-intervals.txt": hosts,
                "adaptive-mimetypes.txt": mimes,
            },
        )
    )


def fetched(
    schedule: AdaptiveFetchSchedule,
    change: PageChange,
    datum: CrawlDatum = PAGE,
    url: str = URL,
) -> CrawlDatum:
    return schedule.after_fetch(
        url,
        datum,
        previous_modified=datum.modified_time,
        fetched=NOW,
        modified=datum.modified_time,
        change=change,
    )


def unchanged_for(seconds: int, interval: int) -> CrawlDatum:
    return replace(PAGE, modified_time=NOW - seconds * 1000, fetch_interval=interval)


class TestAdaptiveFetchSchedule(FetchScheduleContract):
    plugin_class = AdaptiveFetchSchedule


class TestWithRules(FetchScheduleContract):
    plugin_class = AdaptiveFetchSchedule

    def config(self) -> Config:
        return Config.of(
            {KEY + "sync_delta_rate": 1.0, "db.fetch.interval.max": 86400},
            files={
                "adaptive-host-specific-intervals.txt": "example.com 100 200",
                "adaptive-mimetypes.txt": "text/html 0.1 0.9",
            },
        )


@pytest.mark.parametrize(
    ("change", "interval"),
    [
        (PageChange.MODIFIED, 8 * HOUR),
        (PageChange.NOTMODIFIED, 14 * HOUR),
        (PageChange.UNKNOWN, 10 * HOUR),
    ],
)
def test_intervals_follow_changes(change: PageChange, interval: int) -> None:
    assert fetched(adaptive(), change) == replace(
        PAGE, retries=0, fetch_interval=interval, fetch_time=NOW + interval * 1000
    )


def test_rates_and_bounds_are_settings() -> None:
    schedule = adaptive({KEY + "inc_rate": 1.0, KEY + "dec_rate": 0.5})
    assert fetched(schedule, PageChange.NOTMODIFIED).fetch_interval == 20 * HOUR
    assert fetched(schedule, PageChange.MODIFIED).fetch_interval == 5 * HOUR
    bounded = adaptive({KEY + "min_interval": "9h", KEY + "max_interval": "11h"})
    assert fetched(bounded, PageChange.NOTMODIFIED).fetch_interval == 11 * HOUR
    assert fetched(bounded, PageChange.MODIFIED).fetch_interval == 9 * HOUR
    with pytest.raises(ConfigError, match="min_interval is longer than"):
        adaptive({KEY + "min_interval": 5, KEY + "max_interval": 4})


def test_no_interval_yet_is_the_default_one() -> None:
    new = replace(PAGE, fetch_interval=0)
    schedule = adaptive({"db.fetch.interval.default": 1000})
    assert fetched(schedule, PageChange.UNKNOWN, new).fetch_interval == 1000


@pytest.mark.parametrize(
    ("modified", "change", "expected"),
    [
        (0, PageChange.NOTMODIFIED, NOW),
        (-5, PageChange.UNKNOWN, NOW),
        (7, PageChange.MODIFIED, NOW),
        (NOW - 7, PageChange.NOTMODIFIED, NOW - 7),
    ],
)
def test_when_the_page_changed(modified: int, change: PageChange, expected: int) -> None:
    after = fetched(adaptive(), change, replace(PAGE, modified_time=modified))
    assert after.modified_time == expected


def test_a_page_unchanged_for_long_waits_as_long_again_and_is_moved_towards_the_change() -> None:
    page = unchanged_for(100 * HOUR, interval=10 * HOUR)
    after = fetched(adaptive(), PageChange.NOTMODIFIED, page)
    assert after.fetch_interval == 100 * HOUR
    assert after.fetch_time == NOW + 70 * HOUR * 1000
    short = unchanged_for(5 * HOUR, interval=10 * HOUR)
    after = fetched(adaptive(), PageChange.NOTMODIFIED, short)
    assert after.fetch_interval == 14 * HOUR
    assert after.fetch_time == NOW + (14 * HOUR - 5400) * 1000
    plain = adaptive({KEY + "sync_delta": False})
    assert fetched(plain, PageChange.NOTMODIFIED, page).fetch_time == NOW + 14 * HOUR * 1000


def test_the_move_has_a_bound_that_is_not_nothing() -> None:
    """Nutch divides integers here, and so moves by 0."""
    schedule = adaptive({KEY + "max_interval": "10h"})
    page = unchanged_for(1000 * HOUR, interval=HOUR)
    after = fetched(schedule, PageChange.NOTMODIFIED, page)
    assert after.fetch_interval == 10 * HOUR
    assert after.fetch_time == NOW + 7 * HOUR * 1000


@pytest.mark.parametrize("days", [1, 6, 7, 20, 22, 23.3, 24, 400])
@pytest.mark.parametrize("rate", [0.3, 0.9, 1.0])
def test_the_adaptive_schedule_never_goes_below_min_interval(days: float, rate: float) -> None:
    day = 24 * HOUR
    settings = {"min_interval": day, "max_interval": 7 * day, "sync_delta_rate": rate}
    schedule = adaptive({KEY + key: value for key, value in settings.items()})
    page = unchanged_for(round(days * day), interval=2 * day)
    after = fetched(schedule, PageChange.NOTMODIFIED, page)
    assert after.fetch_time >= NOW + day * 1000


def test_nor_below_the_bound_of_a_host() -> None:
    schedule = adaptive({KEY + "sync_delta_rate": 1.0}, hosts="news.example.org 7200 86400")
    after = fetched(schedule, PageChange.NOTMODIFIED, unchanged_for(1000 * HOUR, HOUR))
    assert after.fetch_time == NOW + 7200 * 1000


def test_a_fixed_interval_is_left_alone() -> None:
    fixed = replace(PAGE, modified_time=0, metadata={FIXED_INTERVAL_KEY: "30.0"})
    assert fetched(adaptive(), PageChange.MODIFIED, fixed) == replace(
        fixed, retries=0, fetch_interval=30, fetch_time=NOW + 30_000
    )
    for odd in ("soon", "nan", "-1", "0", "1e99"):
        datum = replace(PAGE, metadata={FIXED_INTERVAL_KEY: odd})
        assert fetched(adaptive(), PageChange.MODIFIED, datum).fetch_interval == 8 * HOUR


def test_bounds_of_a_host() -> None:
    hosts = "# a comment\nNews.Example.org 39600 default\nother.example 0 30000\n"
    schedule = adaptive(hosts=hosts)
    assert fetched(schedule, PageChange.MODIFIED).fetch_interval == 39600
    other = "https://other.example:8443/"
    assert fetched(schedule, PageChange.NOTMODIFIED, url=other).fetch_interval == 30000
    assert fetched(schedule, PageChange.NOTMODIFIED, url="http://x/").fetch_interval == 14 * HOUR


def test_a_short_bound_of_a_host_never_makes_a_page_due_in_the_past() -> None:
    schedule = adaptive(hosts="news.example.org 60 3600")
    after = fetched(schedule, PageChange.NOTMODIFIED, unchanged_for(1000 * HOUR, HOUR))
    assert after.fetch_interval == 3600
    assert after.fetch_time == NOW + 2520 * 1000


@pytest.mark.parametrize(
    "line", ["a 5", "a 1 2 3", "a x 5", "a -1 500", "a 500 400", "a 59 100", "a 60 4e7", "a nan 0"]
)
def test_a_line_of_hosts_that_is_wrong_is_reported(line: str) -> None:
    with pytest.raises(ConfigError, match=r"adaptive-host-specific-intervals.txt:2: "):
        adaptive(hosts=f"ok 60 default\n{line}\n")


def test_rates_of_a_mime_type() -> None:
    schedule = adaptive(mimes="text/html\t0.1\t0.5\napplication/pdf 0 0\n")
    html = replace(PAGE, metadata={"Content-Type": "Text/HTML; charset=utf-8"})
    assert fetched(schedule, PageChange.NOTMODIFIED, html).fetch_interval == 11 * HOUR
    assert fetched(schedule, PageChange.MODIFIED, html).fetch_interval == 5 * HOUR
    pdf = replace(PAGE, metadata={"Content-Type": "application/pdf"})
    assert fetched(schedule, PageChange.NOTMODIFIED, pdf).fetch_interval == 10 * HOUR
    assert fetched(schedule, PageChange.NOTMODIFIED).fetch_interval == 14 * HOUR


@pytest.mark.parametrize("line", ["text/html 1", "text/html a b", "text/html 0.1 1", "x -1 0"])
def test_a_line_of_mime_types_that_is_wrong_is_reported(line: str) -> None:
    with pytest.raises(ConfigError, match=r"adaptive-mimetypes.txt:1: "):
        adaptive(mimes=line)


@given(datums, st.integers(0, 10**14), st.sampled_from(PageChange))
@settings(max_examples=scaled(150))
def test_whatever_the_record_the_next_fetch_is_within_bounds(
    datum: CrawlDatum, now: int, change: PageChange
) -> None:
    after = adaptive().after_fetch(
        URL, datum, previous_modified=0, fetched=now, modified=datum.modified_time, change=change
    )
    assert 60 <= after.fetch_interval <= 31_536_000
    assert now + 60_000 <= after.fetch_time <= now + 31_536_000_000


@given(
    st.lists(st.integers(1, 10_000_000), min_size=2, max_size=2),
    st.floats(0, 1),
    st.integers(0, 10**9),
    st.integers(1, 10**8),
    st.sampled_from(PageChange),
)
@settings(max_examples=scaled(150))
def test_whatever_the_bounds_the_next_fetch_is_within_them(
    bounds: list[int], rate: float, unchanged: int, interval: int, change: PageChange
) -> None:
    shortest, longest = sorted(bounds)
    values = {"min_interval": shortest, "max_interval": longest, "sync_delta_rate": rate}
    schedule = adaptive({KEY + key: value for key, value in values.items()})
    after = fetched(schedule, change, unchanged_for(unchanged, interval))
    assert shortest * 1000 <= after.fetch_time - NOW <= longest * 1000
