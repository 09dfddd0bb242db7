from __future__ import annotations

import numpy as np
import pytest

from crawl.config import Config
from crawl.interfaces.scoring import Links
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.scoring.linkrank import LinkRankScoring
from tests.plugins.scoring.pages import PLAIN, linked, shared

RANK = LinkRankScoring(Config.of())
URL = "http://site.org/a"


def test_links_get_equal_damped_shares_of_the_page_s_rank() -> None:
    page = CrawlDatum(Status.DB_FETCHED, 5, score=4.0)
    links = shared(RANK, "http://other.org/", page, [URL, "http://site.org/b"])
    assert [datum.score for _, datum in links] == pytest.approx([1.7, 1.7])


def test_a_new_url_has_the_rank_that_its_links_give_it() -> None:
    start = RANK.initial_score(URL, PLAIN)
    assert start.score == pytest.approx(0.15)
    new = RANK.update_score(URL, None, start, [linked(1.7), linked(0.5)], 0)
    assert new.score == pytest.approx(0.15 + 2.2)


def test_what_linkrank_said_is_added_to_until_the_page_is_fetched() -> None:
    waiting = CrawlDatum(Status.DB_UNFETCHED, 5, score=3.0)
    assert RANK.update_score(URL, waiting, waiting, [linked(1.0)], 0).score == 4.0
    fetched = CrawlDatum(Status.DB_FETCHED, 5, score=3.0)
    assert RANK.update_score(URL, waiting, fetched, [linked(1.0)], 0).score == 4.0
    assert RANK.update_score(URL, fetched, fetched, [linked(1.0)], 0).score == 3.0


def test_by_column_too() -> None:
    rows = [
        (URL, "site.org", CrawlDatum(status, 5, score=3.0))
        for status in (Status.DB_UNFETCHED, Status.DB_FETCHED, Status.DB_UNFETCHED)
    ]
    links = Links(np.array([0, 0, 1]), np.array([1.0, 0.5, 1.0], np.float32))
    scores = RANK.update_scores(to_table(rows), np.full(3, 3.0, np.float32), links, 0)
    assert scores.tolist() == [4.5, 3.0, 3.0]


def test_a_page_of_no_known_score_counts_as_a_mean_one() -> None:
    for text in ("", "x", "nan", "inf"):
        assert RANK.worth(Parse(URL, metadata={"nutch.crawl.score": text})) == 1.0


def test_a_document_is_boosted_by_its_rank() -> None:
    datum = CrawlDatum(Status.DB_FETCHED, 5, score=2.0)
    assert RANK.indexer_score(URL, datum, Parse(URL), 1.5) == 3.0
