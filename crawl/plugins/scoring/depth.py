"""depth: how many links a page is away from its seed; no further than a limit.

A seed has depth 1 and may bring a limit of its own (`_maxdepth_` in its line), which its
links inherit. generate prefers the shallow; a page at the limit keeps its links to itself.
A page that was known before anybody counted is taken for a seed, and a new one of which no
link tells the depth for the deepest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from crawl.config import Config, integer, text
from crawl.errors import ConfigError
from crawl.interfaces.scoring import Inlinks, ScoringFilter, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.inheritance import with_metadata
from crawl.plugins.scoring.metadata_numbers import whole_number, whole_numbers

DEPTH_KEY = "_depth_"
MAX_DEPTH_KEY = "_maxdepth_"
_SEED_DEPTH = 1

MAX = integer(
    "scoring.depth.max", 1000, "Links of pages at this depth are dropped; a seed's is 1.", minimum=1
)
OVERRIDE_PATTERN = text(
    "scoring.depth.override.pattern",
    "",
    "Pages whose URL matches this regular expression set another limit for what lies below them.",
)
OVERRIDE_MAX = integer(
    "scoring.depth.max.override",
    1000,
    "The limit below pages that match scoring.depth.override.pattern.",
    minimum=1,
)


class DepthScoring(ScoringFilter):
    """Goes well after another filter: it multiplies the rank and keeps no score."""

    may_combine_links: ClassVar[bool] = True

    def __init__(self, config: Config) -> None:
        self._max = config[MAX]
        self._override_max = config[OVERRIDE_MAX]
        expression = config[OVERRIDE_PATTERN]
        try:
            self._override = re.compile(expression) if expression else None
        except (re.error, RecursionError, OverflowError) as error:
            raise ConfigError(
                f"{OVERRIDE_PATTERN.name}: {expression!r} is not a regular expression: {error}"
            ) from None

    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, metadata={**datum.metadata, DEPTH_KEY: str(_SEED_DEPTH)})

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return value * (1 + self._limit(datum.metadata) - _depth(datum.metadata))

    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> pa.Array[Any]:
        depths = whole_numbers(datums, DEPTH_KEY, _SEED_DEPTH)
        limits = whole_numbers(datums, MAX_DEPTH_KEY, self._max)
        ranks = (values.to_numpy() * (1 + limits - depths)).astype(np.float32)
        return pa.array(ranks, pa.float32())

    def before_parse(self, url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return _own_entries(datum.metadata)

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        return replace(parse, metadata={**parse.metadata, **_own_entries(content.metadata)})

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        depth = _depth(parse.metadata)
        own_limit = whole_number(parse.metadata, MAX_DEPTH_KEY)
        if self._override is not None and self._override.search(parse.url):
            own_limit = self._override_max
        if depth >= (self._max if own_limit is None else own_limit):
            return []
        entries = {DEPTH_KEY: str(depth + 1)}
        if own_limit is not None:
            entries[MAX_DEPTH_KEY] = str(own_limit)
        return with_metadata(targets, entries)

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        records = inlinks if old is None else [old, *inlinks]
        depths = [whole_number(record.metadata, DEPTH_KEY) for record in records]
        depths_known = [depth for depth in depths if depth is not None]
        if not depths_known and old is not None:
            return datum
        # a new URL of which no link knows the depth (a meta refresh) is taken for the deepest,
        # or a chain of such would lead out of every limit
        smallest = str(min(depths_known, default=self._max))
        if datum.metadata.get(DEPTH_KEY) == smallest:
            return datum
        return replace(datum, metadata={**datum.metadata, DEPTH_KEY: smallest})

    def _limit(self, metadata: Mapping[str, str]) -> int:
        own = whole_number(metadata, MAX_DEPTH_KEY)
        return self._max if own is None else own


def _depth(metadata: Mapping[str, str]) -> int:
    depth = whole_number(metadata, DEPTH_KEY)
    return _SEED_DEPTH if depth is None else depth


def _own_entries(metadata: Mapping[str, str]) -> dict[str, str]:
    return {key: metadata[key] for key in (DEPTH_KEY, MAX_DEPTH_KEY) if key in metadata}
