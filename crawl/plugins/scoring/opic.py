"""opic: adaptive on-line page importance. A page's score is cash that flows along links.

A seed brings its cash from its seed line (`db.score.injected` where it names none), a
linked URL starts with nothing, and generate prefers the rich.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, Property
from crawl.interfaces.scoring import SCORE_KEY, ScoringFilter
from crawl.model.datum import CrawlDatum


class OpicScoring(ScoringFilter):
    """The moments of inject and generate."""

    properties: ClassVar[tuple[Property[Any], ...]] = ()

    def __init__(self, config: Config) -> None:
        pass

    def before_parse(self, url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return {SCORE_KEY: repr(datum.score)}

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=0.0)

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return datum.score * value

    def sort_values(self, datums: pa.Table, values: pa.Array) -> pa.Array:
        return pc.multiply(datums["score"].combine_chunks(), values)
