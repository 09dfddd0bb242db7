"""What sitemaps may list, and what their facts mean."""

from __future__ import annotations

import string
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.phases.sitemap.rules import (
    CHANGEFREQ_KEY,
    LASTMOD_KEY,
    PRIORITY_KEY,
    folder_of,
    interval_of,
    is_within,
    lastmod_ms,
    priority_of,
    update_known,
)

NOW = 1_800_000_000_000
DAY = 86_400_000


def moment(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    return round(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("http://a.test/sitemap.xml", "http://a.test/"),
        ("http://a.test/x/y/s.xml", "http://a.test/x/y/"),
        ("http://a.test/x/s.php?in=/a/b/", "http://a.test/x/"),
    ],
)
def test_the_folder_of_a_sitemap(url: str, folder: str) -> None:
    assert folder_of(url) == folder


def test_a_scope_is_a_folder_or_a_host() -> None:
    assert is_within(["http://a.test/x/"], "http://a.test/x/1", "a.test")
    assert not is_within(["http://a.test/x/"], "http://a.test/xy", "a.test")
    assert not is_within(["http://a.test/"], "http://a.test.evil.test/", "a.test.evil.test")
    assert not is_within(["http://a.test/"], "https://a.test/", "a.test")
    assert is_within(["a.test"], "https://a.test:8443/", "a.test")
    assert not is_within(["a.test"], "http://www.a.test/", "www.a.test")
    assert not is_within([], "http://a.test/", "a.test")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025", moment(2025, 1, 1)),
        ("2025-03", moment(2025, 3, 1)),
        ("2025-03-04", moment(2025, 3, 4)),
        (" 2025-03-04T05:06Z ", moment(2025, 3, 4, 5, 6)),
        ("2025-03-04T05:06:07+02:00", moment(2025, 3, 4, 3, 6, 7)),
        ("2025-03-04T05:06:07.25Z", moment(2025, 3, 4, 5, 6, 7) + 250),
        ("2025-03-04 05:06:07", moment(2025, 3, 4, 5, 6, 7)),
        ("Tue, 04 Mar 2025 05:06:07 GMT", moment(2025, 3, 4, 5, 6, 7)),
        ("", None),
        ("yesterday", None),
        ("2025-13-01", None),
        ("0000-00-00", None),
        ("1899-01-01", None),
        ("2099-01-01", None),
        ("9" * 10_000, None),
    ],
)
def test_dates(text: str, expected: int | None) -> None:
    assert lastmod_ms(text, NOW) == expected


def test_tomorrow_may_have_begun_elsewhere() -> None:
    tomorrow = datetime.fromtimestamp((NOW + DAY) / 1000, tz=UTC).isoformat()
    assert lastmod_ms(tomorrow, NOW) == NOW + DAY


@given(st.text(max_size=80) | st.text(string.digits + "-:T.+Z ", max_size=40))
def test_no_text_is_too_odd_for_a_fact(text: str) -> None:
    found = lastmod_ms(text, NOW)
    assert found is None or 0 < found <= NOW + DAY
    priority = priority_of(text)
    assert priority is None or 0 <= priority <= 1
    seconds = interval_of(text, 60, 3600)
    assert seconds is None or 60 <= seconds <= 3600


def test_priorities_and_frequencies() -> None:
    texts = ("0", "1.0", ".5", "0.25 ", "1.1", "-1", "nan", "1e-3", "", "high")
    assert [priority_of(text) for text in texts] == [0.0, 1.0, 0.5, 0.25, *[None] * 6]
    words = ("always", "Weekly", "never", "sometimes", "")
    assert [interval_of(word, 3600, 999_999) for word in words] == [
        *(3600, 604_800, 999_999, None, None),
    ]


FETCHED = CrawlDatum(Status.DB_FETCHED, NOW + 10 * DAY, 5, 20 * 86_400, score=2.0, signature=b"s")


def listed(**facts: str) -> CrawlDatum:
    keys = {"lastmod": LASTMOD_KEY, "changefreq": CHANGEFREQ_KEY, "priority": PRIORITY_KEY}
    metadata = {keys[name]: value for name, value in facts.items()}
    return CrawlDatum(Status.DB_UNFETCHED, NOW, 0, 3600, score=0.7, metadata=metadata)


def updated(old: CrawlDatum, entry: CrawlDatum, *, overwrite: bool = False) -> CrawlDatum:
    return update_known(old, entry, now_ms=NOW, overwrite=overwrite, refetch_after_s=86_400)


@pytest.mark.parametrize("status", list(Status))
def test_only_what_was_fetched_before_its_last_change_is_due_earlier(status: Status) -> None:
    old = CrawlDatum(status, NOW + 10 * DAY, 0, 20 * 86_400)
    changed = datetime.fromtimestamp((NOW - DAY) / 1000, tz=UTC).isoformat()
    was_fetched = status.label.startswith("db_") and status not in (
        Status.DB_UNFETCHED,
        Status.DB_ORPHAN,
    )
    due = updated(old, listed(lastmod=changed)).fetch_time
    assert due == (NOW if was_fetched else old.fetch_time)
    unchanged = datetime.fromtimestamp((NOW - 11 * DAY) / 1000, tz=UTC).isoformat()
    assert updated(old, listed(lastmod=unchanged)).fetch_time == old.fetch_time


def test_a_record_that_is_due_anyway_stays_so() -> None:
    old = CrawlDatum(Status.DB_FETCHED, NOW - DAY, 0, 20 * 86_400)
    assert updated(old, listed(lastmod="2026-12-31")).fetch_time == NOW - DAY


def test_the_facts_of_an_earlier_sitemap_are_replaced() -> None:
    old = CrawlDatum(
        Status.DB_FETCHED, NOW, metadata={"own": "1", LASTMOD_KEY: "2020", PRIORITY_KEY: "0.1"}
    )
    assert updated(old, listed(priority="0.7")).metadata == {"own": "1", PRIORITY_KEY: "0.7"}
    assert updated(old, listed()).metadata == {"own": "1"}


def test_score_and_interval_are_overwritten_only_by_what_is_said() -> None:
    entry = listed(priority="0.7", changefreq="hourly")
    kept = updated(FETCHED, entry)
    assert (kept.score, kept.fetch_interval) == (2.0, 20 * 86_400)
    over = updated(FETCHED, entry, overwrite=True)
    assert (over.score, over.fetch_interval, over.signature) == (0.7, 3600, b"s")
    unsaid = updated(FETCHED, listed(), overwrite=True)
    assert (unsaid.score, unsaid.fetch_interval) == (2.0, 20 * 86_400)
    fixed = CrawlDatum(Status.DB_FETCHED, NOW, 0, 50, metadata={FIXED_INTERVAL_KEY: "50"})
    assert updated(fixed, entry, overwrite=True).fetch_interval == 50
