"""The arithmetic of the seed documents."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.interfaces.scoring import SCORE_KEY, Links
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.scoring.opic import OpicScoring
from tests.plugins.scoring.pages import PLAIN, linked, shared

RICH = CrawlDatum(Status.DB_UNFETCHED, 5, score=3.0, metadata={"a": "b"})
INSIDE = ["http://a/1", "http://a/2"]
OUTSIDE = ["http://b/", "http://c/"]


def opic(**settings: object) -> OpicScoring:
    return OpicScoring(Config.of({key.replace("_", "."): value for key, value in settings.items()}))


def test_a_seed_keeps_the_cash_of_its_line() -> None:
    assert opic().injected_score("http://a/", RICH) == RICH


def test_a_linked_url_starts_with_nothing() -> None:
    empty = opic().initial_score("http://a/", RICH)
    assert empty == CrawlDatum(Status.DB_UNFETCHED, 5, score=0.0, metadata={"a": "b"})
    assert opic().initial_score("http://a/", empty) is empty


def test_the_rich_come_first() -> None:
    assert opic().sort_value("http://a/", RICH, 0.5) == 1.5
    table = to_table([("http://a/", "a", RICH), ("http://b/", "b", RICH)])
    ranks = opic().sort_values(table, pa.array([0.5, 2.0], pa.float32()))
    assert ranks.to_pylist() == [1.5, 6.0]


def test_the_score_goes_from_record_to_content_to_parse() -> None:
    kept = opic().before_parse("http://a/", RICH)
    assert kept == {SCORE_KEY: "3.0"}
    parse = Parse("http://a/", metadata={"x": "y"})
    after = opic().after_parse("http://a/", Content("http://a/", b"", metadata=kept), parse)
    assert after.metadata == {"x": "y", SCORE_KEY: "3.0"}
    assert opic().after_parse("http://a/", Content("http://a/", b""), parse) is parse


def test_links_share_the_cash_evenly() -> None:
    given_scores = [d.score for _, d in shared(opic(), "http://a/", RICH, [*INSIDE, *OUTSIDE], 9)]
    assert given_scores == [0.75] * 4
    assert shared(opic(), "http://a/", RICH, [], 9) == []


def test_filtered_links_take_their_share_if_asked() -> None:
    plugin = opic(db_score_count_filtered=True)
    assert [d.score for _, d in shared(plugin, "http://a/", RICH, INSIDE, 6)] == [0.5, 0.5]


def test_links_on_the_host_and_to_others_have_their_own_factors() -> None:
    plugin = opic(db_score_link_internal=0.5, db_score_link_external=2.0)
    links = shared(plugin, "http://A/x", RICH, ["http://a:8080/1", "http://b.a/", "http://c/"])
    assert links == [
        ("http://a:8080/1", CrawlDatum(Status.LINKED, 5, fetch_interval=60, score=0.5)),
        ("http://b.a/", CrawlDatum(Status.LINKED, 5, fetch_interval=60, score=2.0)),
        ("http://c/", CrawlDatum(Status.LINKED, 5, fetch_interval=60, score=2.0)),
    ]


@pytest.mark.parametrize("score", ["", "x", "nan", "inf"])
def test_a_page_without_a_score_shares_that_of_a_seed(score: str) -> None:
    plugin = opic(db_score_injected=4.0)
    parse = Parse("http://a/", metadata={SCORE_KEY: score} if score else {})
    ((_, datum),) = plugin.distribute(parse, Content("http://a/", b""), [("http://b/", PLAIN)], 1)
    assert datum.score == 4.0


def test_one_record_for_all_links_that_share_one() -> None:
    (_, first), (_, second) = shared(opic(), "http://a/", RICH, INSIDE)
    assert first is second


def test_updatedb_adds_what_was_given_to_what_was_there() -> None:
    fetched = CrawlDatum(Status.DB_FETCHED, 9, score=100.0)
    inlinks = [linked(2.0), linked(0.5)]
    assert opic().update_score("u", RICH, fetched, inlinks, 0).score == 5.5
    assert opic().update_score("u", None, linked(0.25), inlinks, 0).score == 2.75
    assert opic().update_score("u", RICH, fetched, [], 0).score == 3.0


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=40),
    st.lists(st.integers(0, 4), min_size=40, max_size=40),
    st.randoms(),
)
def test_the_column_adds_as_the_rows_in_any_order(
    scores: list[float], owners: list[int], chance: object
) -> None:
    links = list(zip(owners, scores, strict=False))
    table = to_table(("u", "h", RICH) for _ in range(5))
    expected = [
        opic().update_score("u", RICH, RICH, [linked(s) for o, s in links if o == row], 0).score
        for row in range(5)
    ]
    for _ in range(2):
        owner = np.array([o for o, _ in links], np.int64)
        score = np.array([s for _, s in links], np.float32)
        found = opic().update_scores(table, table["score"].to_numpy(), Links(owner, score), 0)
        assert found.tolist() == np.array(expected, np.float32).tolist()
        chance.shuffle(links)  # type: ignore[attr-defined]


def test_the_boost_is_the_root_of_the_score() -> None:
    rich = CrawlDatum(Status.DB_FETCHED, 5, score=9.0)
    assert opic().indexer_score("u", rich, Parse("u"), 2.0) == 6.0
    assert opic(indexer_score_power=1.0).indexer_score("u", rich, Parse("u"), 2.0) == 18.0
    poor = CrawlDatum(Status.DB_FETCHED, 5, score=-9.0)
    assert opic().indexer_score("u", poor, Parse("u"), 2.0) == 0.0


@given(st.integers(1, 50), st.floats(0.001, 1e6))
def test_no_cash_is_lost_or_made(count: int, score: float) -> None:
    page = CrawlDatum(Status.DB_FETCHED, 5, score=score)
    links = shared(opic(), "http://a/", page, [f"http://b/{n}" for n in range(count)])
    assert sum(datum.score for _, datum in links) == pytest.approx(score)
