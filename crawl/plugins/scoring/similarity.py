"""similarity: a focused crawl. Links of pages that resemble a goal text come first.

A page's title and text are compared with the goal (`scoring.similarity.model.path`) by the
cosine of their word counts, 0 to 1; its links are given that as their score, and a URL
keeps the best that a page gave it. It is used instead of `opic`, not beside it. Without a
goal it has no opinion.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, file, integer
from crawl.interfaces.scoring import Inlinks, Links, Scores, ScoringFilter, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.inheritance import remade
from crawl.plugins.scoring.metadata_numbers import finite_number
from crawl.urls.rule_lines import rule_lines

SIMILARITY_KEY = "scoring.similarity"
"""Parse metadata: how much the page resembles the goal."""

GOAL = file(
    "scoring.similarity.model.path",
    "goldstandard.txt",
    "A text such as the pages that are looked for.",
)
STOPWORDS = file(
    "scoring.similarity.stopword.file", "stopwords.txt", "Words that say nothing, one a line."
)
MAX_WORDS = integer(
    "scoring.similarity.max.words",
    20000,
    "So many words of a page are compared with the goal.",
    unit="words",
    minimum=1,
)
_WORD = re.compile(r"[^\W_]{2,50}")


class SimilarityScoring(ScoringFilter):
    """The score of a URL is how well the pages that link to it fit the goal."""

    may_combine_links: ClassVar[bool] = True

    def __init__(self, config: Config) -> None:
        self._stopwords = {line.text.strip().casefold() for line in rule_lines(config, STOPWORDS)}
        self._most = config[MAX_WORDS]
        goal = " ".join(line.text for line in rule_lines(config, GOAL))
        self._goal = self._counts(goal)
        self._length = _length(self._goal)

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        if not self._goal or datum.score == 0.0:
            return datum
        return replace(datum, score=0.0)

    def initial_scores(self, datums: pa.Table, scores: Scores) -> Scores:
        return np.zeros(len(scores), dtype=np.float32) if self._goal else scores

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        return datum.score * value if self._goal else value

    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> pa.Array[Any]:
        return pc.multiply(datums["score"].combine_chunks(), values) if self._goal else values

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        if not self._goal:
            return parse
        similarity = self.similarity(f"{parse.title} {parse.text}")
        return replace(parse, metadata={**parse.metadata, SIMILARITY_KEY: repr(similarity)})

    def similarity(self, text: str) -> float:
        """The cosine of the text's word counts and the goal's, from 0 to 1."""
        counts = self._counts(text)
        if not counts or not self._goal:
            return 0.0
        product = sum(count * counts[word] for word, count in self._goal.items())
        return min(product / (self._length * _length(counts)), 1.0)

    def _counts(self, text: str) -> Counter[str]:
        words = (match[0].casefold() for match in _WORD.finditer(text))
        return Counter(word for word in islice(words, self._most) if word not in self._stopwords)

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        if not self._goal:
            return targets
        similarity = min(max(finite_number(parse.metadata, SIMILARITY_KEY, 0.0), 0.0), 1.0)
        return remade(targets, lambda datum: replace(datum, score=similarity))

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        if not self._goal:
            return datum
        before = datum.score if old is None else old.score
        scores = (link.score for link in inlinks if math.isfinite(link.score))
        return replace(datum, score=max([before, *scores]))

    def update_scores(self, old: pa.Table, scores: Scores, links: Links, now: int) -> Scores:
        best = scores.copy()
        if self._goal:
            finite = np.isfinite(links.score)
            np.maximum.at(best, links.owner[finite], links.score[finite])
        return best


def _length(counts: Counter[str]) -> float:
    return math.sqrt(sum(count * count for count in counts.values()))
