from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.interfaces.scoring import Links
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.scoring.similarity import SIMILARITY_KEY, SimilarityScoring
from tests.plugins.scoring.pages import linked, shared

GOAL = "# what we look for\nOtters swim.\nOtters eat the fish.\n"
PAGE = CrawlDatum(Status.DB_FETCHED, 5, score=0.2)


def similarity(goal: str = GOAL, most_words: int = 100) -> SimilarityScoring:
    files = {"goldstandard.txt": goal, "stopwords.txt": "# none\nthe\n"}
    return SimilarityScoring(Config.of({"scoring.similarity.max.words": most_words}, files=files))


PLUGIN = similarity()


def test_the_cosine_of_word_counts() -> None:
    # the goal: otters 2, swim 1, eat 1, fish 1; its length is the root of 7
    assert PLUGIN.similarity("OTTERS swim, otters eat fish!") == pytest.approx(1.0)
    assert PLUGIN.similarity("Fish fish") == pytest.approx(1 / math.sqrt(7))
    assert PLUGIN.similarity("otters and cars") == pytest.approx(2 / math.sqrt(7 * 3))
    assert PLUGIN.similarity("The what we look for") == 0.0
    assert PLUGIN.similarity("") == 0.0


@given(st.text())
def test_it_lies_between_0_and_1(text: str) -> None:
    assert 0.0 <= PLUGIN.similarity(text) <= 1.0
    assert 0.0 <= PLUGIN.similarity(f"{text} otters") <= 1.0


def test_only_the_first_words_of_a_page_count() -> None:
    plugin = similarity(most_words=2)
    assert plugin.similarity("cars cars otters") == 0.0
    assert plugin.similarity("otters cars otters") > 0.0


def test_links_get_the_similarity_of_their_page() -> None:
    page = "otters swim, otters eat fish"
    scores = [d.score for _, d in shared(PLUGIN, "http://a/", PAGE, ["http://b/"] * 2, text=page)]
    assert scores == [pytest.approx(1.0)] * 2
    assert [d.score for _, d in shared(PLUGIN, "http://a/", PAGE, ["http://b/"])] == [0.0]


def test_a_url_keeps_the_best() -> None:
    inlinks = [linked(0.7), linked(0.1)]
    assert PLUGIN.update_score("u", PAGE, PAGE, inlinks, 0).score == 0.7
    assert PLUGIN.update_score("u", replace(PAGE, score=0.9), PAGE, inlinks, 0).score == 0.9
    assert PLUGIN.update_score("u", None, linked(0.0), inlinks, 0).score == 0.7
    assert PLUGIN.update_score("u", PAGE, linked(0.5), [], 0).score == 0.2
    table = to_table([("u", "h", PAGE), ("v", "h", PAGE)])
    links = Links(np.array([0, 0]), np.array([0.1, 0.7], np.float32))
    updated = PLUGIN.update_scores(table, table["score"].to_numpy(), links, 0)
    assert updated.tolist() == pytest.approx([0.7, 0.2])


def test_without_a_goal_it_has_no_opinion() -> None:
    silent = similarity("# nothing\n")
    assert silent.sort_value("u", PAGE, 3.0) == 3.0
    assert SIMILARITY_KEY not in silent.after_parse("u", None, Parse("u")).metadata  # type: ignore[arg-type]
    assert silent.update_score("u", PAGE, linked(0.5), [linked(0.9)], 0) == linked(0.5)
    assert silent.initial_score("u", PAGE) is PAGE
