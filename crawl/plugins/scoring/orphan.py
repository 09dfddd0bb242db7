"""orphan: a page to which nobody links any more is let go, first as gone, then as orphan.

updatedb records in `_orphan_` when a link to the page was last seen, in seconds since 1970.
A page that was never linked (a seed) is never an orphan. The limits should be longer than
the interval in which the pages that link are fetched again, for a page that is not fetched
shows no links.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config, duration
from crawl.errors import ConfigError
from crawl.interfaces.scoring import Inlinks, ScoringFilter
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.plugins.scoring.metadata_numbers import whole_number, whole_numbers

ORPHAN_KEY = "_orphan_"
_NEVER = -1

GONE_AFTER = duration(
    "scoring.orphan.mark.gone.after",
    2592000,
    "How long after the last link to it a page counts as gone.",
    unit="s",
)
ORPHAN_AFTER = duration(
    "scoring.orphan.mark.orphan.after",
    3456000,
    "How long after the last link to it a page counts as an orphan.",
    unit="s",
)


class OrphanScoring(ScoringFilter):
    """Scores nothing: it changes the status of what was forgotten."""

    may_combine_links: ClassVar[bool] = True

    def __init__(self, config: Config) -> None:
        self._gone_after = config[GONE_AFTER]
        self._orphan_after = config[ORPHAN_AFTER]
        if self._orphan_after < self._gone_after:
            raise ConfigError(
                f"{ORPHAN_AFTER.name} is shorter than {GONE_AFTER.name}:"
                " no page would ever be gone before it is an orphan"
            )

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Inlinks, now: int
    ) -> CrawlDatum:
        if inlinks:
            linked = str(max(now, 0) // 1000)
        elif old is not None and ORPHAN_KEY in old.metadata:
            linked = old.metadata[ORPHAN_KEY]  # what a fetch list said may be older
        else:
            return datum
        return replace(datum, metadata={**datum.metadata, ORPHAN_KEY: linked})

    def orphaned_score(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        linked = whole_number(datum.metadata, ORPHAN_KEY)
        if linked is None:
            return datum
        elapsed = now // 1000 - linked
        if elapsed > self._orphan_after:
            status = Status.DB_ORPHAN
        elif elapsed > self._gone_after:
            status = Status.DB_GONE
        else:
            return datum
        return datum if datum.status is status else replace(datum, status=status)

    def orphans(self, datums: pa.Table, now: int) -> npt.NDArray[np.bool_]:
        linked = whole_numbers(datums, ORPHAN_KEY, _NEVER)
        elapsed = now // 1000 - linked
        status = datums["status"].to_numpy()
        orphan = (elapsed > self._orphan_after) & (status != Status.DB_ORPHAN)
        gone = (
            (elapsed > self._gone_after)
            & (elapsed <= self._orphan_after)
            & (status != Status.DB_GONE)
        )
        asked: npt.NDArray[np.bool_] = (linked != _NEVER) & (orphan | gone)
        return asked
