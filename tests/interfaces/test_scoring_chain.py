from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import PluginError
from crawl.interfaces.scoring import ScoringFilter
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status

HERE = __name__


class AddsOne(ScoringFilter):
    """By column."""

    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=datum.score + 1)

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return value + 1

    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> pa.Array[Any]:
        return pc.add(values, 1.0)


class Doubles(ScoringFilter):
    """By row, and only on one host."""

    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=datum.score * 2)

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return value * 2 if url.startswith("http://a/") else value


class Silent(ScoringFilter):
    """Has no opinion at all."""


class Raises(ScoringFilter):
    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        raise ValueError(url)

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        if url.endswith("/bad"):
            raise ValueError(url)
        return value + 10


class RaisesByColumn(ScoringFilter):
    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> pa.Array[Any]:
        raise ValueError


class AnswersNonsense(ScoringFilter):
    answer: Any = None

    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> Any:
        return self.answer


class AnswersNoNumber(ScoringFilter):
    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return None  # type: ignore[return-value]


def chain(*plugins: type) -> ScoringChain:
    names = [f"{HERE}:{plugin.__name__}" for plugin in plugins]
    return ScoringChain.from_config(Config.of({"scoring.filter.order": names}))


def error_of(plugin: type) -> str:
    return f"plugin_errors.scoring.{HERE}:{plugin.__name__}"


SEED = CrawlDatum(Status.DB_UNFETCHED, 5, score=3.0)
TABLE = to_table(
    [("http://a/1", "a", SEED), ("http://b/1", "b", SEED), ("http://a/bad", "a", SEED)]
)


def test_the_default_chain_is_opic() -> None:
    default = ScoringChain.from_config(Config.of())
    assert [plugin.name for plugin in default.plugins] == ["opic"]
    assert default.sort_values(TABLE, Counters()).to_pylist() == [3.0, 3.0, 3.0]
    assert not default.has_moment("injected_score")
    assert not default.needs_url_to_sort


def test_plugins_are_asked_in_order() -> None:
    counters = Counters()
    assert chain(AddsOne, Doubles).injected_score("u", SEED, counters).score == 8.0
    assert chain(Doubles, AddsOne).injected_score("u", SEED, counters).score == 7.0
    assert chain(AddsOne, Doubles).sort_values(TABLE, counters).to_pylist() == [4.0, 2.0, 4.0]
    assert chain(Doubles, AddsOne).sort_values(TABLE, counters).to_pylist() == [3.0, 2.0, 3.0]
    assert counters == Counters()


def test_an_empty_chain_ranks_all_alike() -> None:
    empty = chain()
    assert empty.sort_values(TABLE, Counters()).to_pylist() == [1.0, 1.0, 1.0]
    assert empty.injected_score("u", SEED, Counters()) == SEED
    assert not empty.has_moment("injected_score")


def test_who_has_a_say() -> None:
    assert chain(Silent, AddsOne).has_moment("injected_score")
    assert not chain(Silent).has_moment("injected_score")
    assert chain(AddsOne, Doubles).needs_url_to_sort
    assert not chain(AddsOne, Silent).needs_url_to_sort


def test_no_opinion_needs_no_url() -> None:
    ranks = chain(Silent, AddsOne).sort_values(TABLE.drop_columns(["url"]), Counters())
    assert ranks.to_pylist() == [2.0, 2.0, 2.0]


def test_a_plugin_that_raises_is_counted_and_has_no_opinion() -> None:
    counters = Counters()
    faulty = chain(AddsOne, Raises, AddsOne)
    assert faulty.injected_score("u", SEED, counters).score == 5.0
    assert counters == {error_of(Raises): 1}
    assert faulty.sort_values(TABLE, counters).to_pylist() == [13.0, 13.0, 3.0]
    assert counters == {error_of(Raises): 2}
    ranks = chain(AddsOne, RaisesByColumn).sort_values(TABLE, counters)
    assert ranks.to_pylist() == [2.0, 2.0, 2.0]
    assert counters[error_of(RaisesByColumn)] == 3


@pytest.mark.parametrize(
    "answer",
    [
        pa.array([1.0]),
        pa.array([], pa.float32()),
        pa.array([1.0, None, 2.0]),
        pa.array(["a", "b", "c"]),
        3.0,
    ],
    ids=["too few", "none", "a null", "texts", "no column"],
)
def test_a_column_that_ranks_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(AnswersNonsense, "answer", answer)
    counters = Counters()
    ranks = chain(AddsOne, AnswersNonsense).sort_values(TABLE, counters)
    assert ranks.to_pylist() == [2.0, 2.0, 2.0]
    assert counters == {error_of(AnswersNonsense): 3}


def test_a_row_without_a_number_is_counted() -> None:
    counters = Counters()
    assert chain(AnswersNoNumber).sort_values(TABLE, counters).to_pylist() == [1.0, 1.0, 1.0]
    assert counters == {error_of(AnswersNoNumber): 3}


def test_columns_of_other_float_types_and_empty_tables() -> None:
    ranks = chain(AddsOne).sort_values(TABLE.slice(0, 0), Counters())
    assert ranks.type == pa.float32()
    assert len(ranks) == 0
    assert math.isclose(chain(AddsOne).sort_values(TABLE, Counters())[0].as_py(), 2.0)


def test_a_chain_travels_by_name() -> None:
    there = pickle.loads(pickle.dumps(chain(AddsOne, Doubles)))
    assert there.sort_values(TABLE, Counters()).to_pylist() == [4.0, 2.0, 4.0]
    assert "_filters" not in there.__getstate__()


def test_what_cannot_be_built_is_reported_on_the_driver() -> None:
    with pytest.raises(PluginError, match="did you mean 'opic'"):
        ScoringChain.from_config(Config.of({"scoring.filter.order": ["opik"]}))
    with pytest.raises(PluginError, match="cannot be loaded"):
        ScoringChain.from_config(Config.of({"scoring.filter.order": ["no.such:Thing"]}))
