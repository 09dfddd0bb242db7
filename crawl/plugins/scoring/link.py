"""link: the score is what linkrank computed from the whole graph; here it is only used.

updatedb leaves it alone, scoreupdater sets it, and until then a linked URL has none.
"""

from __future__ import annotations

from crawl.config import Config, number
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.link_sums import storable
from crawl.plugins.scoring.score_ranked import ScoreRankedFilter

NORMALIZE = number(
    "link.analyze.normalize.score", 1.0, "A document's boost is its link score times this."
)


class LinkScoring(ScoreRankedFilter):
    """Ranks by the stored score, and boosts documents by it."""

    def __init__(self, config: Config) -> None:
        self._normalize = config[NORMALIZE]

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        return storable(datum.score * self._normalize * value)
