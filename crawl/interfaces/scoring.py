"""scoring: how important is a URL, at each moment of its life?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse

SCORE_KEY = "nutch.crawl.score"
"""Content metadata: the page's score when it was fetched, to be passed to its links."""

Target = tuple[str, CrawlDatum]
"""A link's URL and the `linked` record that is made for it."""
Inlinks = Sequence[CrawlDatum]
"""The records of links to a URL."""
Scores = npt.NDArray[np.float32]
"""The score of each row of a table."""


@dataclass(frozen=True, slots=True)
class Links:
    """Links to the rows of a table, in any order: link i leads to row `owner[i]` and bears
    `score[i]`."""

    owner: npt.NDArray[np.int64]
    score: npt.NDArray[np.float32]


class ScoringFilter(Protocol):
    """One idea of importance. Scoring filters form a chain in `scoring.filter.order`.

    Each moment defaults to changing nothing, so that a plugin writes only its own; nobody
    calls a moment that no plugin of the chain overrides. A plugin that overrides a form by
    column always answers by it.
    """

    may_combine_links: ClassVar[bool] = False
    """Whether `update_score` looks at nothing of its inlinks but score and metadata. Then many
    links to one URL travel to it as one row, if all filters with that moment say so. Whoever
    overrides `update_score` says so anew."""

    def __init__(self, config: Config) -> None:
        """Reads its properties."""

    def pinned_settings(self) -> Mapping[str, str]:
        """Properties as the tasks of a phase are to have them, so that all know the same: a
        path as it is seen from the driver, the state of a table when the phase began."""
        return {}

    def injected_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        """A seed enters the CrawlDb; its record already bears the seed line's score."""
        return datum

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        """A page links to the URL: asked of each link's record when it is made, and of the
        URL's when it enters the CrawlDb."""
        return datum

    def initial_scores(self, datums: pa.Table, scores: Scores) -> Scores | None:
        """`initial_score` of a table of CrawlDb columns, a row for a URL that is new: the score
        of each; `scores` are the chain's so far. A plugin whose `initial_score` changes more
        than the score leaves it as it is here."""
        return None

    def sort_value(self, url: str, datum: CrawlDatum, value: float) -> float:
        """generate ranks URLs by this, highest first; `value` is the chain's so far."""
        return value

    def sort_values(self, datums: pa.Table, values: pa.Array[Any]) -> pa.Array[Any] | None:
        """`sort_value` for a table of CrawlDb columns (`url` and `signature` may be missing) as
        a float array; None where the plugin can only answer by row."""
        return None

    def before_parse(self, url: str, datum: CrawlDatum) -> Mapping[str, str]:
        """A page was fetched: what of its record to keep in the content's metadata, for the
        moments after parsing."""
        return {}

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        """A page was parsed: what of the content's metadata to keep in the parse's."""
        return parse

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        """A page's links were filtered and limited: the targets, in any case in their order,
        with the scores and metadata that the page gives them. A plugin may leave out some;
        `all_count` is how many links the page has in all. Records are values: one object may
        stand for many targets, so a plugin need not make the same one anew for each."""
        return targets

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        """updatedb: `datum` is to be written over `old` (None for a URL that is new);
        `inlinks` are the records of links found in the segments, best score first."""
        return datum

    def update_scores(self, old: pa.Table, scores: Scores, links: Links, now: int) -> Scores | None:
        """`update_score` of rows to which nothing happened but links: the new score of each.

        `old` has the CrawlDb columns of the rows as they would be written (`url` included),
        `scores` their scores so far in the chain. A plugin whose `update_score` changes more
        than the score leaves it as it is here.
        """
        return None

    def orphaned_score(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        """updatedb: nothing was heard of a known URL, neither a fetch nor a link."""
        return datum

    def orphans(self, datums: pa.Table, now: int) -> npt.NDArray[np.bool_] | None:
        """Which rows of a table of CrawlDb columns (`url` and `signature` may be missing)
        `orphaned_score` would change; None where only it can tell. Nearly every row of a
        large CrawlDb is asked about, so a plugin with that moment should have this too."""
        return None

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        """index: the boost of a document; `value` is the chain's so far."""
        return value
