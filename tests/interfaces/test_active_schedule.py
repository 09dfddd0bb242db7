from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import PluginError
from crawl.interfaces.active_schedule import ActiveSchedule
from crawl.interfaces.schedule import FetchSchedule
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.schedule.default import DefaultFetchSchedule

HERE = __name__
NOW = 1000

TABLE = to_table(
    (f"http://a/{name}", "a", CrawlDatum(Status.DB_UNFETCHED, time))
    for name, time in (("due", 999), ("later", 1001), ("bad", 999))
)


class ByRow(DefaultFetchSchedule):
    """A schedule that decides row by row, and raises for some URLs."""

    should_fetch_batch: Any = FetchSchedule.should_fetch_batch

    def should_fetch(self, url: str, datum: CrawlDatum, now: int) -> bool:
        if url.endswith("bad"):
            raise ValueError(url)
        return super().should_fetch(url, datum, now)


class ByColumn(DefaultFetchSchedule):
    answer: Any = None

    def should_fetch_batch(self, datums: pa.Table, now: int) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def active(plugin: type) -> ActiveSchedule:
    return ActiveSchedule.from_config(
        Config.of({"db.fetch.schedule.class": f"{HERE}:{plugin.__name__}"})
    )


def error_of(plugin: type) -> str:
    return f"plugin_errors.schedule.{HERE}:{plugin.__name__}"


def test_the_default_answers_by_column() -> None:
    default = ActiveSchedule.from_config(Config.of())
    assert default.plugin.name == "default"
    assert not default.needs_url
    counters = Counters()
    assert default.due(TABLE.drop_columns(["url"]), NOW, counters).to_pylist() == [
        True,
        False,
        True,
    ]
    assert counters == Counters()


def test_by_row_a_fault_makes_no_page_vanish() -> None:
    schedule = active(ByRow)
    assert schedule.needs_url
    counters = Counters()
    assert schedule.due(TABLE, NOW, counters).to_pylist() == [True, False, True]
    assert counters == {error_of(ByRow): 1}
    assert schedule.due(TABLE.slice(0, 0), NOW, counters).to_pylist() == []


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("x"),
        pa.array([True]),
        pa.array([True, None, False]),
        pa.array([1, 0, 1]),
        "nonsense",
    ],
    ids=["raises", "too few", "a null", "numbers", "no column"],
)
def test_by_column_a_fault_makes_no_page_vanish(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(ByColumn, "answer", answer)
    counters = Counters()
    assert active(ByColumn).due(TABLE, NOW, counters).to_pylist() == [True, True, True]
    assert counters == {error_of(ByColumn): 3}


def test_a_column_that_is_no_answer_after_all_is_asked_by_row() -> None:
    assert active(ByColumn).due(
        TABLE.drop_columns(["url", "signature"]), NOW, Counters()
    ).to_pylist() == [True, False, True]


def test_it_travels_by_name() -> None:
    there = pickle.loads(pickle.dumps(active(ByRow)))
    assert there.due(TABLE, NOW, Counters()).to_pylist() == [True, False, True]
    assert "schedule" not in there.__getstate__()


def test_what_cannot_be_built_is_reported_on_the_driver() -> None:
    with pytest.raises(PluginError, match=r"did you mean 'default'.*db.fetch.schedule.class"):
        ActiveSchedule.from_config(Config.of({"db.fetch.schedule.class": "defualt"}))
