from __future__ import annotations

from crawl.config import Config
from crawl.interfaces.scoring import SCORE_KEY
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.status import Status
from crawl.plugins.scoring.link import LinkScoring
from tests.plugins.scoring.pages import linked, shared

RANKED = CrawlDatum(Status.DB_FETCHED, 5, score=2.5)
LINK = LinkScoring(Config.of())


def test_the_stored_score_ranks_and_boosts() -> None:
    assert LINK.sort_value("u", RANKED, 2.0) == 5.0
    assert LINK.indexer_score("u", RANKED, Parse("u"), 2.0) == 5.0
    half = LinkScoring(Config.of({"link.analyze.normalize.score": 0.5}))
    assert half.indexer_score("u", RANKED, Parse("u"), 2.0) == 2.5


def test_a_linked_url_has_no_score_until_the_graph_is_ranked() -> None:
    assert LINK.initial_score("u", linked(3.0)) == linked(0.0)
    assert [datum.score for _, datum in shared(LINK, "http://a/", RANKED, ["http://b/"])] == [0.0]


def test_the_score_goes_along_to_the_parse() -> None:
    kept = LINK.before_parse("u", RANKED)
    assert LINK.after_parse("u", Content("u", b"", metadata=kept), Parse("u")).metadata == {
        SCORE_KEY: "2.5"
    }


def test_updatedb_leaves_it_alone() -> None:
    chain = ScoringChain.from_config(Config.of({"scoring.filter.order": ["link"]}))
    assert not chain.has_moment("update_score")
    assert chain.can_update_by_column
