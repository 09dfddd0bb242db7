"""The base of scoring filters whose score estimates PageRank as a crawl goes on.

A page's rank is a small part that every page has and a larger one that comes along links: each
referrer gives its own worth, damped and divided by its links. A URL that is new starts with
the small part, and while it waits to be fetched, updatedb adds what newly found links bring. Once
fetched, a page keeps its score: a page that is fetched again would count its links again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config
from crawl.graph.settings import LINK_ANALYZE_DAMPING_FACTOR
from crawl.interfaces.scoring import Inlinks, Links, Scores, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.status import Status
from crawl.model.value import replace
from crawl.plugins.scoring.inheritance import remade
from crawl.plugins.scoring.link_sums import storable, storable_scores, total, totals
from crawl.plugins.scoring.score_ranked import ScoreRankedFilter


class LinkSharesFilter(ScoreRankedFilter):
    """What a page is worth, and what a URL starts with, is the filter's own."""

    may_combine_links: ClassVar[bool] = True

    def __init__(self, config: Config) -> None:
        self.damping = config[LINK_ANALYZE_DAMPING_FACTOR]

    @abstractmethod
    def worth(self, parse: Parse) -> float:
        """What a page has to give; a mean page's is 1."""

    @abstractmethod
    def worth_of_hosts(self, hosts: pa.ChunkedArray[Any]) -> npt.NDArray[np.float64]:
        """What is known of pages of these hosts beforehand; a mean page's is 1."""

    @abstractmethod
    def worth_of_url(self, url: str) -> float:
        """`worth_of_hosts` of a URL's host."""

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=storable((1.0 - self.damping) * self.worth_of_url(url)))

    def initial_scores(self, datums: pa.Table, scores: Scores) -> Scores:
        return storable_scores((1.0 - self.damping) * self.worth_of_hosts(datums["host"]))

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        if not targets:
            return targets
        share = storable(self.damping * self.worth(parse) / len(targets))
        return remade(targets, lambda datum: replace(datum, score=share))

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        before = datum if old is None else old
        if old is not None and old.status != Status.DB_UNFETCHED:
            return replace(datum, score=storable(before.score))
        brought = total(link.score for link in inlinks)
        return replace(datum, score=storable(before.score + brought))

    def update_scores(self, old: pa.Table, scores: Scores, links: Links, now: int) -> Scores:
        waits = old["status"].to_numpy() == Status.DB_UNFETCHED
        brought = np.where(waits, totals(links, len(scores)), 0.0)
        return storable_scores(scores.astype(np.float64) + brought)
