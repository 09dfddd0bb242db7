"""domain-budget: a site is crawled as far as other sites vouch for it (STAR, of IRLbot).

A score is a budget: so many pages may be fetched at and below the URL. Budget is made only
by links from distinct foreign registered domains, each of which counts once however often
it links; a farm of a million pages on one domain makes none. A page keeps one for itself
and divides the rest among its links within the domain, so that the pages of a domain whose
score reaches 1 are about as many as its budget. External links bear the name of the domain
that links, as a hash; a URL collects them in a bounded sketch.

A URL keeps the most that it was ever given, so fetching a page again makes nothing. Use it
instead of `opic`, with `generate.min.score = 1` to stop where the budget ends, or without
to only come to such pages last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from crawl.config import Config, integer, number
from crawl.errors import ConfigError
from crawl.interfaces.scoring import SCORE_KEY, Inlinks, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.domain_sketch import count, domain_hash, merged
from crawl.plugins.scoring.link_sums import LARGEST, storable
from crawl.plugins.scoring.score_ranked import ScoreRankedFilter
from crawl.urls.domains import domain_of

FROM_KEY = "_from_domain_"
"""Metadata of a link: the hash of the foreign domain that it comes from."""
DOMAINS_KEY = "_domains_"
"""Metadata of a URL: the sketch of the foreign domains that link to it."""

BASE = number(
    "scoring.domain.budget.base",
    10.0,
    "Pages that a first foreign domain, or a seed's score of 1, vouches for.",
    unit="pages",
    minimum=0,
)
EACH = number(
    "scoring.domain.budget.per.domain",
    10.0,
    "Pages that each further foreign domain vouches for.",
    unit="pages",
    minimum=0,
)
MAX_PAGES = number(
    "scoring.domain.budget.max",
    10000.0,
    "Most pages that foreign domains vouch for by links to one URL.",
    unit="pages",
    minimum=1,
)
SKETCH = integer(
    "scoring.domain.budget.sketch",
    64,
    "Foreign domains that a record counts exactly; beyond, it estimates.",
    unit="domains",
    minimum=2,
    maximum=4096,
)


class DomainBudgetScoring(ScoreRankedFilter):
    """The score is a number of pages."""

    may_combine_links: ClassVar[bool] = True

    def __init__(self, config: Config) -> None:
        self._base = config[BASE]
        self._each = config[EACH]
        self._most = config[MAX_PAGES]
        self._sketch = config[SKETCH]
        if self._base > self._most:
            raise ConfigError(f"{BASE.name} is more than {MAX_PAGES.name}")

    def budget(self, domains: float) -> float:
        """Pages that so many foreign domains vouch for."""
        if domains < 1:
            return 0.0
        return min(self._base + self._each * (domains - 1), self._most)

    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=storable(datum.score * self._base))

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        domain = domain_of(parse.url)
        if domain is None:
            return targets
        internal = [domain_of(url) == domain for url, _ in targets]
        share = max(_score(parse) - 1.0, 0.0) / max(sum(internal), 1)
        vouched = {FROM_KEY: domain_hash(domain)}
        made: dict[tuple[int, bool], CrawlDatum] = {}
        result: list[Target] = []
        for (url, datum), inside in zip(targets, internal, strict=True):
            record = made.get((id(datum), inside))
            if record is None:
                if inside:
                    record = replace(datum, score=share)
                else:
                    record = replace(datum, score=0.0, metadata={**datum.metadata, **vouched})
                made[id(datum), inside] = record
            result.append((url, record))
        return result

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        metadata = {key: value for key, value in datum.metadata.items() if key != FROM_KEY}
        sketch = (datum if old is None else old).metadata.get(DOMAINS_KEY, "")
        hashes = {link.metadata[FROM_KEY] for link in inlinks if FROM_KEY in link.metadata}
        if hashes:
            sketch = merged(sketch, hashes, self._sketch)
        if sketch:  # of a page that was fetched: what its list said may be older
            metadata[DOMAINS_KEY] = sketch
        shares = [link.score for link in inlinks if math.isfinite(link.score)]
        before = datum.score if old is None else old.score
        vouched = self.budget(count(sketch, self._sketch)) if sketch else 0.0
        return replace(datum, score=storable(max(before, vouched, *shares)), metadata=metadata)


def _score(parse: Parse) -> float:
    try:
        score = float(parse.metadata[SCORE_KEY])
    except (KeyError, ValueError):
        return 0.0
    return min(score, LARGEST) if score == score else 0.0
