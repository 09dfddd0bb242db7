"""The arithmetic of the seed documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.scoring.depth import DEPTH_KEY, MAX_DEPTH_KEY, DepthScoring
from tests.plugins.scoring.pages import PLAIN, linked, shared

DEPTH = DepthScoring(Config.of())
SHALLOW = DepthScoring(Config.of({"scoring.depth.max": 3}))
SEED = CrawlDatum(Status.DB_UNFETCHED, 5, score=1.0)


def at(depth: str, limit: str | None = None) -> CrawlDatum:
    metadata = {DEPTH_KEY: depth} | ({MAX_DEPTH_KEY: limit} if limit else {})
    return replace(SEED, metadata=metadata)


def test_a_seed_has_depth_one_and_may_bring_its_limit() -> None:
    assert DEPTH.injected_score("u", SEED).metadata == {DEPTH_KEY: "1"}
    own = DEPTH.injected_score("u", replace(SEED, metadata={MAX_DEPTH_KEY: "4", "k": "v"}))
    assert own.metadata == {MAX_DEPTH_KEY: "4", "k": "v", DEPTH_KEY: "1"}


@pytest.mark.parametrize(
    ("datum", "rank"),
    [
        (at("1"), 2000.0),
        (at("1000"), 2.0),
        (at("1001"), 0.0),
        (at("3", "10"), 16.0),
        (at("x", "10"), 20.0),
        (SEED, 2000.0),
    ],
)
def test_the_shallow_come_first(datum: CrawlDatum, rank: float) -> None:
    assert DEPTH.sort_value("u", datum, 2.0) == rank
    table = to_table([("u", "h", datum)])
    ranks = DEPTH.sort_values(table, pa.array(np.array([2.0], np.float32)))
    assert ranks.to_pylist() == [rank]


def test_links_are_one_deeper_and_inherit_a_limit_of_their_own() -> None:
    assert shared(DEPTH, "http://a/", at("4"), ["http://b/", "http://c/"]) == [
        ("http://b/", replace(PLAIN, metadata={DEPTH_KEY: "5"})),
        ("http://c/", replace(PLAIN, metadata={DEPTH_KEY: "5"})),
    ]
    assert shared(DEPTH, "http://a/", at("4", "6"), ["http://b/"]) == [
        ("http://b/", replace(PLAIN, metadata={DEPTH_KEY: "5", MAX_DEPTH_KEY: "6"}))
    ]


@pytest.mark.parametrize(
    ("datum", "kept"),
    [
        (at("1"), True),
        (at("2"), True),
        (at("3"), False),
        (at("4"), False),
        (at("3", "4"), True),
        (at("1", "1"), False),
        (SEED, True),
    ],
)
def test_at_the_limit_links_are_dropped(datum: CrawlDatum, kept: bool) -> None:
    assert bool(shared(SHALLOW, "http://a/", datum, ["http://b/"])) is kept


def test_a_page_may_set_another_limit_for_what_lies_below() -> None:
    plugin = DepthScoring(
        Config.of(
            {
                "scoring.depth.max": 3,
                "scoring.depth.override.pattern": "/hub/",
                "scoring.depth.max.override": 5,
            }
        )
    )
    ((_, below),) = shared(plugin, "http://a/hub/x", at("3"), ["http://b/"])
    assert below.metadata == {DEPTH_KEY: "4", MAX_DEPTH_KEY: "5"}
    assert shared(plugin, "http://a/x", at("3"), ["http://b/"]) == []
    assert shared(plugin, "http://a/hub/x", at("5"), ["http://b/"]) == []


def test_a_pattern_that_is_none_is_reported() -> None:
    with pytest.raises(ConfigError, match=r"scoring.depth.override.pattern: '\('"):
        DepthScoring(Config.of({"scoring.depth.override.pattern": "("}))


def test_updatedb_keeps_the_smallest_depth() -> None:
    near, far = linked(1.0, _depth_="3"), linked(5.0, _depth_="7")
    assert DEPTH.update_score("u", None, far, [far, near], 0).metadata == {DEPTH_KEY: "3"}
    assert DEPTH.update_score("u", at("2"), at("2"), [far, near], 0) == at("2")
    assert DEPTH.update_score("u", at("5"), at("5"), [far, near], 0) == at("3")
    assert DEPTH.update_score("u", at("5"), SEED, [], 0).metadata == {DEPTH_KEY: "5"}


def test_a_new_url_of_unknown_depth_is_the_deepest() -> None:
    assert SHALLOW.update_score("u", None, linked(1.0), [linked(1.0)], 0).metadata == {
        DEPTH_KEY: "3"
    }


def test_a_page_known_before_anybody_counted_stays_as_it_is() -> None:
    assert DEPTH.update_score("u", SEED, SEED, [linked(1.0)], 0) == SEED
