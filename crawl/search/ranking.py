"""How pages are ranked: every weight, and what it does, in one place.

    score = words × links × freshness

words      BM25 of each word in title, anchors, URL, text and the rest of the page (menus and
           footers), each field weighted; the number of pages, of those with the word and the
           average length are the whole collection's, whatever a page's language and folder. A
           word counts by its best field and by a share of the others (`other_fields`), so that
           one that is everywhere on a page is not counted five times, as in BM25F. Words that
           stand beside each other add to it.
links      1 + link × (log2(2 + score of the page) - 1): no score outweighs the words
freshness  1 + freshness × 2^(-age / half-life)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crawl.config import Config
from crawl.search import settings


@dataclass(frozen=True, slots=True)
class Weights:
    """The properties search.weight.*."""

    title: float = 3.0
    anchor: float = 2.0
    url: float = 1.5
    text: float = 1.0
    rest: float = 0.3
    other_fields: float = 0.3
    phrase: float = 0.5
    link: float = 1.0
    freshness: float = 0.2
    half_life_ms: float = 365 * 86_400_000.0

    @classmethod
    def of(cls, config: Config) -> Weights:
        return cls(
            title=config[settings.SEARCH_WEIGHT_TITLE],
            anchor=config[settings.SEARCH_WEIGHT_ANCHOR],
            url=config[settings.SEARCH_WEIGHT_URL],
            text=config[settings.SEARCH_WEIGHT_TEXT],
            rest=config[settings.SEARCH_WEIGHT_REST],
            other_fields=config[settings.SEARCH_WEIGHT_OTHER_FIELDS],
            phrase=config[settings.SEARCH_WEIGHT_PHRASE],
            link=config[settings.SEARCH_WEIGHT_LINK],
            freshness=config[settings.SEARCH_WEIGHT_FRESHNESS],
            half_life_ms=config[settings.SEARCH_FRESHNESS_HALF_LIFE] * 86_400_000.0,
        )

    @property
    def of_kinds(self) -> Mapping[str, float]:
        """By the kinds of text fields of the schema."""
        return {"title": self.title, "anchor": self.anchor, "content": self.text, "rest": self.rest}

    def of_links(self, score: float) -> float:
        """What the links to a page make of its words."""
        return max(0.0, 1.0 + self.link * (log_of(score) - 1.0))

    def of_freshness(self, dated_ms: int, now_ms: int) -> float:
        """What the age of a page makes of its words; of one without a date, nothing."""
        if dated_ms <= 0:
            return 1.0
        age_ms = max(0, now_ms - dated_ms)
        return 1.0 + self.freshness * math.exp2(-age_ms / self.half_life_ms)


def log_of(score: float) -> float:
    """By what tantivy's `weight_by_field` multiplies."""
    return math.log2(2.0 + max(0.0, score))


def idf(pages: int, containing: int) -> float:
    """How much a word tells that so many of all pages contain: BM25's."""
    containing = min(containing, pages)
    return math.log(1.0 + (pages - containing + 0.5) / (containing + 0.5))
