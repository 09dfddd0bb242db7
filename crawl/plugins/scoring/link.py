"""link: the score is what linkrank computed from the whole graph; here it is only used.

updatedb leaves it alone, scoreupdater sets it, and until then a linked URL has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, Property, number
from crawl.interfaces.scoring import SCORE_KEY, ScoringFilter
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.link_sums import storable
from crawl.plugins.scoring.passing import with_score

NORMALIZE = number(
    "link.analyze.normalize.score", 1.0, "A document's boost is its link score times this."
)


class LinkScoring(ScoringFilter):
    """Ranks by the stored score, and boosts documents by it."""

    properties: ClassVar[tuple[Property[Any], ...]] = (NORMALIZE,)

    def __init__(self, config: Config) -> None:
        self._normalize = config[NORMALIZE]

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return datum if datum.score == 0.0 else replace(datum, score=0.0)

    def initial_scores(
        self, datums: pa.Table, scores: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        return np.zeros(len(scores), dtype=np.float32)

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return datum.score * value

    def sort_values(self, datums: pa.Table, values: pa.Array) -> pa.Array:
        return pc.multiply(datums["score"].combine_chunks(), values)

    def before_parse(self, url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return {SCORE_KEY: repr(datum.score)}

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        return with_score(content, parse)

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        return storable(datum.score * self._normalize * value)
