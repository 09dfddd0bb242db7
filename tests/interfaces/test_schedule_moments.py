"""The active schedule beside generate: it never loses a URL for a fault."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.active_schedule import ActiveSchedule
from crawl.interfaces.schedule import FetchSchedule, PageChange
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.plugins.schedule.default import DefaultFetchSchedule

HERE = __name__
NOW = 1_000_000
DAY_MS = 86_400_000
DEFAULT_S = 2592000
PAGE = CrawlDatum(Status.DB_FETCHED, 7, 3, fetch_interval=60, retries=2, score=1.5, signature=b"s")
TABLE = to_table((f"http://a/{n}", "a", replace(PAGE, retries=n)) for n in range(3))


class ByRow(DefaultFetchSchedule):
    initialize_batch: Any = FetchSchedule.initialize_batch

    def initialize(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        if url.endswith("1"):
            raise ValueError(url)
        return replace(datum, fetch_time=now + 1, fetch_interval=5, metadata={"u": url})


class Wrong(DefaultFetchSchedule):
    answer: Any = None

    def _answered(self, *arguments: object, **named: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    initialize = after_fetch = after_gone = after_retry = _answered
    last_fetch_time = force_refetch = _answered
    initialize_batch = urgency_batch = _answered


class Urgent(DefaultFetchSchedule):
    def urgency(self, url: str, datum: CrawlDatum, now: int) -> float:
        return 2.0

    def urgency_batch(self, datums: pa.Table, now: int) -> pa.Array[Any]:
        return pa.array([2.0] * datums.num_rows)


def active(plugin: type) -> ActiveSchedule:
    name = f"{HERE}:{plugin.__name__}"
    return ActiveSchedule.from_config(Config.of({"db.fetch.schedule.class": name}))


def error_of(plugin: type) -> str:
    return f"plugin_errors.schedule.{HERE}:{plugin.__name__}"


def after_fetch(schedule: ActiveSchedule, datum: CrawlDatum, counters: Counters) -> CrawlDatum:
    return schedule.after_fetch(
        "u",
        datum,
        previous_modified=1,
        fetched=NOW,
        modified=2,
        change=PageChange.MODIFIED,
        counters=counters,
    )


def test_the_plugin_is_asked() -> None:
    default = ActiveSchedule.from_config(Config.of())
    plain = DefaultFetchSchedule(Config.of())
    counters = Counters()
    assert default.initialize("u", PAGE, NOW, counters) == plain.initialize("u", PAGE, NOW)
    assert after_fetch(default, PAGE, counters).modified_time == NOW
    assert default.after_gone("u", PAGE, fetched=NOW, counters=counters).fetch_interval == 90
    assert default.after_retry("u", PAGE, fetched=NOW, counters=counters).retries == 3
    assert default.last_fetch_time(PAGE, counters) == 7 - 60_000
    forced = default.force_refetch("u", PAGE, NOW, asap=True, counters=counters)
    assert forced == plain.force_refetch("u", PAGE, NOW, asap=True)
    assert counters == Counters()


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("x"),
        None,
        "text",
        replace(PAGE, fetch_interval=-1),
        replace(PAGE, fetch_interval=2**31),
        replace(PAGE, fetch_time=10**20),
        replace(PAGE, fetch_time=1.5),  # type: ignore[arg-type]
        replace(PAGE, retries=2**15),
    ],
    ids=["raises", "nothing", "text", "negative", "too long", "too late", "no int", "retries"],
)
def test_after_a_fault_a_page_is_due_at_a_sane_time(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(Wrong, "answer", answer)
    schedule, counters = active(Wrong), Counters()
    assert schedule.initialize("u", PAGE, NOW, counters) == replace(
        PAGE, fetch_time=NOW, fetch_interval=DEFAULT_S, retries=0
    )
    assert after_fetch(schedule, PAGE, counters) == replace(
        PAGE, fetch_time=NOW + 60_000, retries=0
    )
    assert after_fetch(schedule, replace(PAGE, fetch_interval=0), counters) == replace(
        PAGE, fetch_time=NOW + DEFAULT_S * 1000, fetch_interval=DEFAULT_S, retries=0
    )
    assert schedule.after_gone("u", PAGE, fetched=NOW, counters=counters) == replace(
        PAGE, fetch_time=NOW + 60_000
    )
    assert schedule.after_retry("u", PAGE, fetched=NOW, counters=counters) == replace(
        PAGE, fetch_time=NOW + DAY_MS, retries=3
    )
    assert schedule.force_refetch("u", PAGE, NOW, asap=False, counters=counters) == CrawlDatum(
        Status.DB_UNFETCHED, NOW, fetch_interval=DEFAULT_S, score=1.5
    )
    assert counters == {error_of(Wrong): 6}


@pytest.mark.parametrize(
    "answer", [ValueError("x"), "text", TABLE.slice(0, 1), TABLE.drop_columns(["score"])]
)
def test_after_a_fault_new_urls_are_due_now(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(Wrong, "answer", answer)
    counters = Counters()
    started = active(Wrong).initialize_batch(TABLE, NOW, counters)
    assert [datum for _, datum in to_records(started)] == [
        replace(PAGE, fetch_time=NOW, fetch_interval=DEFAULT_S, retries=0)
    ] * 3
    assert counters == {error_of(Wrong): 3}


def test_new_urls_by_row_where_the_schedule_has_no_column() -> None:
    counters = Counters()
    started = active(ByRow).initialize_batch(TABLE, NOW, counters)
    assert started.schema.equals(TABLE.schema)
    by_url = dict(to_records(started))
    assert by_url["http://a/0"] == replace(
        PAGE, fetch_time=NOW + 1, fetch_interval=5, retries=0, metadata={"u": "http://a/0"}
    )
    assert by_url["http://a/1"] == replace(
        PAGE, fetch_time=NOW, fetch_interval=DEFAULT_S, retries=0
    )
    assert by_url["http://a/2"].retries == 2
    assert counters == {error_of(ByRow): 1}


def test_a_schedule_may_have_a_say_in_the_order() -> None:
    values = pa.array([1.0, 0.5, 4.0], pa.float32())
    counters = Counters()
    assert not ActiveSchedule.from_config(Config.of()).ranks
    urgent = active(Urgent)
    assert urgent.ranks
    assert urgent.ranked(TABLE, values, NOW, counters).to_pylist() == [2.0, 1.0, 8.0]
    default = ActiveSchedule.from_config(Config.of())
    assert default.ranked(TABLE, values, NOW, counters) is values
    assert counters == Counters()


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("x"),
        None,
        pa.array([1.0]),
        pa.array([1.0, None, 2.0]),
        pa.array([1.0, math.nan, 2.0]),
        pa.array([1.0, -1.0, 2.0]),
        pa.array(["a", "b", "c"]),
    ],
)
def test_a_faulty_say_is_counted_and_not_heard(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(Wrong, "answer", answer)
    values = pa.array([1.0, 0.5, 4.0], pa.float32())
    counters = Counters()
    assert active(Wrong).ranked(TABLE, values, NOW, counters) is values
    assert counters == {error_of(Wrong): 3}
    last = active(Wrong).last_fetch_time(PAGE, counters)
    assert last == 0
