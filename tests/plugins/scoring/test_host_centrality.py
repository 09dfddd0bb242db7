from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.plugins.scoring.host_centrality import HostCentralityScoring
from tests.plugins.scoring.pages import PLAIN, linked, shared


def centrality(tmp_path: Path) -> HostCentralityScoring:
    file = tmp_path / "ranks.txt"
    file.write_text("good.org\t30\nfair.org\t10\n")
    return HostCentralityScoring(Config.of({"scoring.host.ranks.file": str(file)}))


def test_a_new_url_starts_with_its_host_s_part(tmp_path: Path) -> None:
    plugin = centrality(tmp_path)
    scores = [
        plugin.initial_score(f"http://{host}/x", PLAIN).score
        for host in ("good.org", "fair.org", "nobody.org")
    ]
    assert scores == pytest.approx([0.15 * 1.5, 0.15 * 0.5, 0.15 * 0.5])


def test_links_are_worth_what_the_referrer_s_host_is(tmp_path: Path) -> None:
    plugin = centrality(tmp_path)
    page = CrawlDatum(Status.DB_FETCHED, 5, score=99.0)
    (_, one), (_, other) = shared(plugin, "http://good.org/", page, ["http://a.b/", "http://c.d/"])
    assert one.score == other.score == pytest.approx(0.85 * 1.5 / 2)
    start = plugin.initial_score("http://a.b/", PLAIN)
    new = plugin.update_score("http://a.b/", None, start, [one, linked(1.0)], 0)
    assert new.score == pytest.approx(0.15 * 0.5 + 0.85 * 1.5 / 2 + 1.0)


def test_without_a_table_all_hosts_are_alike() -> None:
    plugin = HostCentralityScoring(Config.of())
    assert plugin.worth_of_url("http://any.org/") == 0.5


def test_a_table_that_is_missing_is_told_before_anything_starts() -> None:
    config = Config.of(
        {"scoring.filter.order": "host-centrality", "scoring.host.ranks.file": "/no/such"}
    )
    with pytest.raises(ConfigError, match="scoring.host.ranks.file: /no/such: no such file"):
        ScoringChain.from_config(config)
