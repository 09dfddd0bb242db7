"""scoring: how important is a URL, at each moment of its life?"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from crawl.config import Config
from crawl.model.datum import CrawlDatum


class ScoringFilter(Protocol):
    """One idea of importance. Scoring filters form a chain in `scoring.filter.order`.

    Each moment defaults to changing nothing, so that a plugin writes only its own.
    """

    def __init__(self, config: Config) -> None:
        """Reads its properties."""

    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        """A seed enters the CrawlDb; its record already bears the seed line's score."""
        return datum

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        """A URL enters the CrawlDb because a page links to it."""
        return datum

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        """generate ranks URLs by this, highest first; `value` is the chain's so far."""
        return value

    def sort_values(self, datums: pa.Table, values: pa.Array) -> pa.Array | None:
        """`sort_value` for a table of CrawlDb columns (`url` and `signature` may be missing) as
        a float array; None where the plugin can only answer by row."""
        return None
