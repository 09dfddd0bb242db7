"""opic: adaptive on-line page importance. A page's score is cash that flows along links.

A seed brings its cash from its seed line (`db.score.injected` where it names none), a
linked URL starts with nothing; a fetched page shares its cash among its links, updatedb
adds up what each URL was given, and generate prefers the rich.

A redirect gives its target all of the cash, without the factors for links: it names no other
page, but where this one is now. Nutch has the target start with nothing, and the cash is lost:
a site whose seed leads to its https or www is then fetched last, and so it would be under a
small `db.score.link.external`; a large one would grow with each redirect of a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from crawl.config import Config, boolean, number
from crawl.config.properties import DB_SCORE_INJECTED
from crawl.interfaces.scoring import SCORE_KEY, Inlinks, Links, Scores, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.value import replace
from crawl.plugins.scoring.link_sums import LARGEST, storable, storable_scores, total, totals
from crawl.plugins.scoring.metadata_numbers import finite_number
from crawl.plugins.scoring.score_ranked import ScoreRankedFilter
from crawl.urls.parse import host_of

INTERNAL = number(
    "db.score.link.internal",
    1.0,
    "Factor for the score that a page gives to links on its host; redirects give all they have.",
)
EXTERNAL = number(
    "db.score.link.external",
    1.0,
    "Factor for the score that a page gives to links elsewhere; redirects give all they have.",
)
COUNT_FILTERED = boolean(
    "db.score.count.filtered",
    False,
    "Links that were filtered out take their share of a page's score, which is lost.",
)
POWER = number(
    "indexer.score.power", 0.5, "A document's boost is its score to the power of this.", minimum=0
)


class OpicScoring(ScoreRankedFilter):
    """All moments but the orphaned one."""

    may_combine_links: ClassVar[bool] = True

    def __init__(self, config: Config) -> None:
        self._unknown = config[DB_SCORE_INJECTED]
        self._internal = config[INTERNAL]
        self._external = config[EXTERNAL]
        self._count_filtered = config[COUNT_FILTERED]
        self._power = config[POWER]

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        count = all_count if self._count_filtered else len(targets)
        if not targets or count <= 0:
            return targets
        share = finite_number(parse.metadata, SCORE_KEY, self._unknown) / count
        shares = (share * self._external, share * self._internal)
        host = host_of(parse.url) if self._internal != self._external else None
        # the targets of a page often share one record: it is made anew once, not for each
        made: dict[tuple[int, bool], CrawlDatum] = {}
        shared: list[Target] = []
        for url, datum in targets:
            internal = host is not None and host_of(url) == host
            enriched = made.get((id(datum), internal))
            if enriched is None:
                enriched = replace(datum, score=storable(datum.score + shares[internal]))
                made[id(datum), internal] = enriched
            shared.append((url, enriched))
        return shared

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        before = datum.score if old is None else old.score
        return replace(datum, score=storable(before + total(link.score for link in inlinks)))

    def update_scores(self, old: pa.Table, scores: Scores, links: Links, now: int) -> Scores:
        return storable_scores(scores.astype(np.float64) + totals(links, len(scores)))

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        try:
            return storable(max(datum.score, 0.0) ** self._power * value)
        except OverflowError:
            return LARGEST
