"""The chain at every moment beside inject and generate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.scoring import Links, ScoringFilter, Target
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.records import to_table
from crawl.model.status import Status

HERE = __name__
PAGE = CrawlDatum(Status.DB_FETCHED, 5, score=3.0)
LINK = CrawlDatum(Status.LINKED, 5, score=0.5)
CONTENT = Content("http://a/", b"")
PARSE = Parse("http://a/")
TARGETS: list[Target] = [("http://a/1", LINK), ("http://b/", LINK), ("http://a/2", LINK)]
TABLE = to_table((f"http://a/{n}", "a", replace(PAGE, score=float(n))) for n in range(3))
LINKS = Links(np.array([2, 0, 2]), np.array([1.0, 0.25, 0.5], np.float32))


class Adds(ScoringFilter):
    """Its say at every moment, by row and by column."""

    amount = 1.0
    name = "adds"

    def _more(self, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=datum.score + self.amount)

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return self._more(datum)

    def initial_scores(
        self, datums: pa.Table, scores: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        return scores + np.float32(self.amount)

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        return replace(parse, metadata={**parse.metadata, self.name: url})

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        return [(url, self._more(datum)) for url, datum in targets]

    def update_score(
        self,
        url: str,
        old: CrawlDatum | None,
        datum: CrawlDatum,
        inlinks: Sequence[CrawlDatum],
        now: int,
    ) -> CrawlDatum:
        return replace(datum, score=datum.score + sum(link.score for link in inlinks))

    def update_scores(
        self, old: pa.Table, scores: npt.NDArray[np.float32], links: Links, now: int
    ) -> npt.NDArray[np.float32]:
        return (scores + np.bincount(links.owner, links.score, len(scores))).astype(np.float32)

    def orphaned_score(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        return replace(datum, status=Status.DB_ORPHAN) if now > 100 else datum

    def orphans(self, datums: pa.Table, now: int) -> npt.NDArray[np.bool_]:
        return np.full(datums.num_rows, now > 100)

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        return value + self.amount


class Doubles(ScoringFilter):
    """Some moments, by row only; drops links to other hosts."""

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=datum.score * 2)

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        return [target for target in targets if target[0].startswith("http://a/")]

    def update_score(
        self,
        url: str,
        old: CrawlDatum | None,
        datum: CrawlDatum,
        inlinks: Sequence[CrawlDatum],
        now: int,
    ) -> CrawlDatum:
        return replace(datum, score=datum.score * 2)

    def orphaned_score(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        return replace(datum, score=datum.score * 2)

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        return value * 2


class Silent(ScoringFilter):
    """Has no opinion at all."""


class Wrong(Adds):
    """Raises, or answers what nobody can use."""

    answer: Any = None

    def _answered(self, *arguments: Any, **named: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    initial_score = initial_scores = after_parse = distribute = _answered
    update_score = update_scores = orphaned_score = indexer_score = _answered
    before_parse = _answered

    def orphans(self, datums: pa.Table, now: int) -> Any:
        return self._answered() or "no mask"


def chain(*plugins: type) -> ScoringChain:
    names = [f"{HERE}:{plugin.__name__}" for plugin in plugins]
    return ScoringChain.from_config(Config.of({"scoring.filter.order": names}))


def error_of(plugin: type) -> str:
    return f"plugin_errors.scoring.{HERE}:{plugin.__name__}"


def test_who_has_a_say_when() -> None:
    assert not chain().has_moment("update_score")
    assert not chain(Silent).has_moment("distribute")
    assert chain(Silent, Adds).has_moment("distribute")
    assert not chain(Doubles).has_moment("after_parse")
    assert chain(Doubles).has_moment("orphaned_score")
    assert not chain(Silent).has_moment("orphaned_score")
    assert chain(Silent, Adds).can_update_by_column
    assert chain().can_update_by_column
    assert not chain(Adds, Doubles).can_update_by_column
    assert chain(Adds).can_start_by_column
    assert not chain(Doubles).can_start_by_column


class AddsByScore(Adds):
    may_combine_links = True


class Otherwise(AddsByScore):
    """Says nothing of its own method."""

    def update_score(
        self,
        url: str,
        old: CrawlDatum | None,
        datum: CrawlDatum,
        inlinks: Sequence[CrawlDatum],
        now: int,
    ) -> CrawlDatum:
        return replace(datum, score=float(len({link.fetch_time for link in inlinks})))


def test_links_are_combined_only_where_all_who_see_them_say_so() -> None:
    assert ScoringChain.from_config(Config.of()).may_combine_links
    assert chain().may_combine_links and chain(Silent).may_combine_links
    assert chain(Silent, AddsByScore).may_combine_links
    for others in ((Adds,), (AddsByScore, Adds), (Otherwise,)):
        assert not chain(*others).may_combine_links


def test_the_default_chain_updates_and_starts_by_column() -> None:
    default = ScoringChain.from_config(Config.of())
    assert default.can_update_by_column
    assert default.can_start_by_column
    assert not default.has_moment("orphaned_score")
    counters = Counters()
    assert default.initial_scores(TABLE, counters).tolist() == [0.0, 0.0, 0.0]
    assert default.update_scores(TABLE, LINKS, 0, counters).tolist() == [0.25, 1.0, 3.5]
    assert counters == Counters()


def test_each_moment_asks_all_in_order() -> None:
    counters = Counters()
    both = chain(Adds, Silent, Doubles)
    assert both.initial_score("u", LINK, counters).score == 3.0
    assert chain(Doubles, Adds).initial_score("u", LINK, counters).score == 2.0
    assert both.after_parse("u", CONTENT, PARSE, counters).metadata == {"adds": "u"}
    assert both.distribute(PARSE, CONTENT, TARGETS, 9, counters) == [
        ("http://a/1", replace(LINK, score=1.5)),
        ("http://a/2", replace(LINK, score=1.5)),
    ]
    assert both.update_score("u", None, PAGE, [LINK, LINK], 0, counters).score == 8.0
    assert both.orphaned_score("u", PAGE, 101, counters) == replace(
        PAGE, score=6.0, status=Status.DB_ORPHAN
    )
    assert both.indexer_score("u", PAGE, PARSE, 1.0, counters) == 4.0
    assert counters == Counters()


def test_columns_of_several() -> None:
    counters = Counters()
    both = chain(Adds, Adds)
    assert both.initial_scores(TABLE, counters).tolist() == [2.0, 3.0, 4.0]
    assert both.update_scores(TABLE, LINKS, 0, counters).tolist() == [0.5, 1.0, 5.0]
    assert (
        both.update_scores(
            TABLE.slice(0, 0), Links(LINKS.owner[:0], LINKS.score[:0]), 0, counters
        ).tolist()
        == []
    )
    assert both.orphans(TABLE, 100, counters).tolist() == [False] * 3
    assert both.orphans(TABLE, 101, counters).tolist() == [True] * 3
    assert chain(Adds, Doubles).orphans(TABLE, 0, counters).tolist() == [True] * 3
    assert chain(Silent).orphans(TABLE, 101, counters).tolist() == [False] * 3
    assert counters == Counters()


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("x"),
        None,
        "text",
        replace(PAGE, score=math.nan),
        replace(PAGE, metadata={"depth": 3}),  # type: ignore[dict-item]
        replace(PAGE, score="1"),  # type: ignore[arg-type]
        replace(PARSE, metadata={"depth": None}),  # type: ignore[dict-item]
        math.nan,
        [("http://c/", LINK)],
        [TARGETS[1], TARGETS[0]],
        [("http://a/1", replace(LINK, score=math.nan))],
        np.zeros(2, np.float32),
        np.array([1.0, math.nan, 2.0], np.float32),
    ],
    ids=[
        "raises",
        "nothing",
        "text",
        "a score of NaN",
        "a number in metadata",
        "a score in words",
        "nothing in a parse's metadata",
        "NaN",
        "a new target",
        "in another order",
        "a target of NaN",
        "too few",
        "NaN in a column",
    ],
)
def test_a_plugin_that_fails_is_counted_and_has_no_opinion(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(Wrong, "answer", answer)
    faulty = chain(Adds, Wrong, Adds)
    sound = chain(Adds, Adds)
    none = Counters()
    counters = Counters()
    assert faulty.initial_score("u", LINK, counters) == sound.initial_score("u", LINK, none)
    assert faulty.after_parse("u", CONTENT, PARSE, counters) == sound.after_parse(
        "u", CONTENT, PARSE, none
    )
    assert faulty.distribute(PARSE, CONTENT, TARGETS, 3, counters) == sound.distribute(
        PARSE, CONTENT, TARGETS, 3, none
    )
    assert faulty.update_score("u", PAGE, PAGE, [LINK], 0, counters) == sound.update_score(
        "u", PAGE, PAGE, [LINK], 0, none
    )
    assert faulty.orphaned_score("u", PAGE, 101, counters) == sound.orphaned_score(
        "u", PAGE, 101, none
    )
    assert faulty.indexer_score("u", PAGE, PARSE, 1.0, counters) == 3.0
    assert counters == {error_of(Wrong): 6}
    columns = Counters()
    assert faulty.initial_scores(TABLE, columns).tolist() == [2.0, 3.0, 4.0]
    assert faulty.update_scores(TABLE, LINKS, 0, columns).tolist() == [0.5, 1.0, 5.0]
    assert columns == {error_of(Wrong): 6}
    assert none == Counters()


def test_no_target_is_lost_where_a_plugin_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrong, "answer", KeyError("x"))
    counters = Counters()
    assert chain(Wrong).distribute(PARSE, CONTENT, TARGETS, 3, counters) == TARGETS
    assert chain(Wrong).before_parse("u", PAGE, counters) == {}
    assert chain(Wrong).orphans(TABLE, 0, counters).tolist() == [False] * 3
    assert counters == {error_of(Wrong): 5}


def test_content_keeps_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrong, "answer", {"depth": 3})
    counters = Counters()
    assert chain(Wrong).before_parse("u", PAGE, counters) == {}
    assert counters == {error_of(Wrong): 1}


def test_the_same_url_may_be_a_target_twice() -> None:
    twice = [TARGETS[0], TARGETS[0]]
    counters = Counters()
    assert len(chain(Adds).distribute(PARSE, CONTENT, twice, 2, counters)) == 2
    assert counters == Counters()
