"""Every built-in filter under the contract, alone and with settings that matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.plugins.scoring.depth import DEPTH_KEY, MAX_DEPTH_KEY, DepthScoring
from crawl.plugins.scoring.domain_budget import DOMAINS_KEY, FROM_KEY, DomainBudgetScoring
from crawl.plugins.scoring.host_centrality import HostCentralityScoring
from crawl.plugins.scoring.link import LinkScoring
from crawl.plugins.scoring.linkrank import LinkRankScoring
from crawl.plugins.scoring.metadata import MetadataScoring
from crawl.plugins.scoring.opic import OpicScoring
from crawl.plugins.scoring.orphan import ORPHAN_KEY, OrphanScoring
from crawl.plugins.scoring.similarity import SIMILARITY_KEY, SimilarityScoring
from crawl.testing.inputs.odd_datums import NOW
from crawl.testing.scoring_contract import ScoringFilterContract

DAY_S = 86_400


class TestOpic(ScoringFilterContract):
    plugin_class = OpicScoring


class TestOpicWithFactors(ScoringFilterContract):
    plugin_class = OpicScoring

    def config(self) -> Config:
        return Config.of(
            {
                "db.score.link.internal": 0.5,
                "db.score.link.external": 1e30,
                "db.score.count.filtered": True,
                "indexer.score.power": 1000.0,
            }
        )


class TestLink(ScoringFilterContract):
    plugin_class = LinkScoring


class TestLinkRank(ScoringFilterContract):
    plugin_class = LinkRankScoring


class TestHostCentrality(ScoringFilterContract):
    plugin_class = HostCentralityScoring


class TestHostCentralityOfOneHost(TestHostCentrality):
    @pytest.fixture(autouse=True)
    def table(self, tmp_path: Path) -> None:
        self._file = tmp_path / "ranks"
        self._file.write_text("example.com\t3\nother.org\t1\n")

    def config(self) -> Config:
        return Config.of({"scoring.host.ranks.file": str(self._file)})


class TestDepth(ScoringFilterContract):
    plugin_class = DepthScoring

    def keys(self) -> Sequence[str]:
        return [DEPTH_KEY, MAX_DEPTH_KEY]


class TestDepthWithOverride(TestDepth):
    def config(self) -> Config:
        return Config.of(
            {
                "scoring.depth.max": 2,
                "scoring.depth.override.pattern": "example",
                "scoring.depth.max.override": 5,
            }
        )


class TestOrphan(ScoringFilterContract):
    plugin_class = OrphanScoring

    def keys(self) -> Sequence[str]:
        return [ORPHAN_KEY]

    def samples(self) -> list[CrawlDatum]:
        return [
            CrawlDatum(status, NOW, metadata={ORPHAN_KEY: str(NOW // 1000 - days * DAY_S + off)})
            for status in (Status.DB_FETCHED, Status.DB_GONE, Status.DB_ORPHAN)
            for days in (0, 30, 40, 50)
            for off in (-1, 0, 1)
        ]


class TestMetadata(ScoringFilterContract):
    plugin_class = MetadataScoring

    def config(self) -> Config:
        keys = ["key", "Content-Type"]
        steps = ["scoring.db.md", "scoring.content.md", "scoring.parse.md"]
        return Config.of(dict.fromkeys(steps, keys))


class TestSimilarityWithoutGoal(ScoringFilterContract):
    plugin_class = SimilarityScoring

    def keys(self) -> Sequence[str]:
        return [SIMILARITY_KEY]


class TestSimilarity(TestSimilarityWithoutGoal):
    def config(self) -> Config:
        return Config.of(files={"goldstandard.txt": "Some text.", "stopwords.txt": "the\n"})


class TestDomainBudget(ScoringFilterContract):
    plugin_class = DomainBudgetScoring

    def keys(self) -> Sequence[str]:
        return [FROM_KEY, DOMAINS_KEY]


class TestDomainBudgetWithOtherSettings(TestDomainBudget):
    def config(self) -> Config:
        return Config.of(
            {
                "scoring.domain.budget.base": 1e38,
                "scoring.domain.budget.max": 1e300,
                "scoring.domain.budget.sketch": 2,
            }
        )
