from __future__ import annotations

import pyarrow as pa

from crawl.config import Config
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.scoring.opic import OpicScoring
from crawl.testing.scoring_contract import ScoringFilterContract

RICH = CrawlDatum(Status.DB_UNFETCHED, 5, score=3.0, metadata={"a": "b"})


class TestOpicScoring(ScoringFilterContract):
    plugin_class = OpicScoring


def test_a_seed_keeps_the_cash_of_its_line() -> None:
    assert OpicScoring(Config.of()).injected_score("http://a/", RICH) == RICH


def test_a_linked_url_starts_with_nothing() -> None:
    linked = OpicScoring(Config.of()).initial_score("http://a/", RICH)
    assert linked == CrawlDatum(Status.DB_UNFETCHED, 5, score=0.0, metadata={"a": "b"})


def test_the_rich_come_first() -> None:
    opic = OpicScoring(Config.of())
    assert opic.sort_value("http://a/", RICH, 0.5) == 1.5
    table = to_table([("http://a/", "a", RICH), ("http://b/", "b", RICH)])
    ranks = opic.sort_values(table, pa.array([0.5, 2.0], pa.float32()))
    assert ranks.to_pylist() == [1.5, 6.0]
