"""The base of scoring filters that rank a record by its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.interfaces.scoring import SCORE_KEY, Scores, ScoringFilter
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse


class ScoreRankedFilter(ScoringFilter):
    """A linked URL starts with score 0, generate prefers high scores, and a page's score
    travels with it to its links."""

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return datum if datum.score == 0.0 else replace(datum, score=0.0)

    def initial_scores(self, datums: pa.Table, scores: Scores) -> Scores:
        return np.zeros(len(scores), dtype=np.float32)

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return datum.score * value

    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> pa.Array[Any]:
        return pc.multiply(datums["score"].combine_chunks(), values)

    def before_parse(self, url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return {SCORE_KEY: repr(datum.score)}

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        score = content.metadata.get(SCORE_KEY)
        if score is None:
            return parse
        return replace(parse, metadata={**parse.metadata, SCORE_KEY: score})
