"""poisson: visits go where they buy the most freshness for the fetches that can be paid.

Each page's rate of change is estimated from all its visits (`change_rate.py`); a page is
due when a visit is worth the price at which the visits of all pages meet the budget
(`freshness.py`), and generate takes the worthiest first; one never visited counts as one
that was not for the longest interval. Slowly changing pages are visited
seldom, quicker ones more often, and those that change faster than the budget can follow
seldom again.

What is known of a page stands in its metadata under `_visits_`: the last visit in seconds
since 1970, then the two numbers of the estimate.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, integer, interval, number
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT, DB_FETCH_INTERVAL_MAX
from crawl.errors import ConfigError
from crawl.interfaces.schedule import PageChange
from crawl.model.datum import CrawlDatum
from crawl.model.metadata import lookup, without_entry
from crawl.plugins.schedule.base import BaseFetchSchedule, PageVisit, fixed_interval
from crawl.plugins.schedule.change_rate import ChangeRateEstimate
from crawl.plugins.schedule.freshness import days_until_worth, price_of, worth, worths

VISITS_KEY = "_visits_"
_DAY_S = 86_400
_NUMBER = "[0-9]{1,15}[.][0-9]{1,9}"
_STATE = f"(?P<visited>[0-9]{{1,12}}) (?P<shape>{_NUMBER}) (?P<days>{_NUMBER})"
_TEXT = re.compile(_STATE)
_COLUMN = rf"\A{_STATE}\z"
_MIN = 1e-6

MEAN_INTERVAL = interval(
    "db.fetch.schedule.poisson.mean_interval",
    DB_FETCH_INTERVAL_DEFAULT,
    "How often a page can be fetched on average: the budget.",
)
CHANGE_INTERVAL = interval(
    "db.fetch.schedule.poisson.change_interval",
    2592000,
    "How long pages of which nothing is known yet stay unchanged: one over their mean rate.",
    minimum=60,
)
SHAPE = number(
    "db.fetch.schedule.poisson.shape",
    0.25,
    "How alike the pages' rates of change are: the shape of their Gamma distribution.",
    minimum=0.05,
    maximum=100,
)
MIN_INTERVAL = interval("db.fetch.schedule.poisson.min_interval", 3600, "Shortest interval.")
MAX_INTERVAL = interval(
    "db.fetch.schedule.poisson.max_interval",
    DB_FETCH_INTERVAL_MAX,
    "Longest interval; one above db.fetch.interval.max is cut to it.",
)
MEMORY = integer(
    "db.fetch.schedule.poisson.memory",
    50,
    "After so many visits an observation counts a third, for pages change their habits; 0:"
    " nothing is forgotten.",
    unit="visits",
    minimum=0,
)


class PoissonFetchSchedule(BaseFetchSchedule):
    """Intervals and order that maximise the share of pages that are fresh."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._shortest = config[MIN_INTERVAL] / _DAY_S
        # beyond db.fetch.interval.max updatedb would forget the page
        self._longest = min(config[MAX_INTERVAL], self._max) / _DAY_S
        if self._shortest > self._longest:
            raise ConfigError(f"{MIN_INTERVAL.name} is longer than {MAX_INTERVAL.name}")
        shape = config[SHAPE]
        self.prior = ChangeRateEstimate(shape, shape * config[CHANGE_INTERVAL] / _DAY_S)
        memory = config[MEMORY]
        self._memory_share = 1 - 1 / (memory + 1) if memory else 1.0
        self.price = price_of(
            self.prior, config[MEAN_INTERVAL] / _DAY_S, self._shortest, self._longest
        )
        """In days: what a visit must be worth."""
        self._first_urgency = worth(self.prior, self._longest) / self.price

    def initialize(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        fresh = super().initialize(url, datum, now)
        if VISITS_KEY not in datum.metadata:
            return fresh
        # the target of a redirect inherits metadata, but nobody has visited it yet
        metadata = {key: text for key, text in datum.metadata.items() if key != VISITS_KEY}
        return replace(fresh, metadata=metadata)

    def initialize_batch(self, datums: pa.Table, now: int) -> pa.Table:
        place = datums.schema.get_field_index("metadata")
        metadata = without_entry(datums["metadata"].combine_chunks(), VISITS_KEY)
        return super().initialize_batch(
            datums.set_column(place, datums.schema.field(place), metadata), now
        )

    def reschedule(self, datum: CrawlDatum, visit: PageVisit) -> CrawlDatum:
        estimate = self._updated_estimate(datum, visit)
        interval = fixed_interval(datum)
        if interval is None:
            days = days_until_worth(estimate, self.price, self._shortest, self._longest)
            interval = max(round(days * _DAY_S), 1)
        return replace(
            datum,
            fetch_interval=interval,
            fetch_time=visit.fetched + interval * 1000,
            modified_time=visit.changed_at,
            metadata={**datum.metadata, VISITS_KEY: _text(visit.fetched, estimate)},
        )

    def _updated_estimate(self, datum: CrawlDatum, visit: PageVisit) -> ChangeRateEstimate:
        stored = _stored_estimate(datum)
        if stored is None:
            return self.prior
        visited, estimate = stored
        days = (visit.fetched // 1000 - visited) / _DAY_S
        if visit.change is PageChange.UNKNOWN or days <= 0:
            return estimate
        changed = visit.change is PageChange.MODIFIED
        observed = estimate.changed(days) if changed else estimate.unchanged(days)
        return observed.faded(self.prior, self._memory_share)

    def urgency(self, url: str, datum: CrawlDatum, now: int) -> float:
        stored = _stored_estimate(datum)
        if stored is None:
            return self._first_urgency
        visited, estimate = stored
        return worth(estimate, max(now // 1000 - visited, 0) / _DAY_S) / self.price

    def urgency_batch(self, datums: pa.Table, now: int) -> pa.Array[Any]:
        texts = pa.concat_arrays(
            [lookup(chunk, VISITS_KEY) for chunk in datums["metadata"].chunks]
            or [pa.array([], pa.string())]
        )
        urgency = np.full(len(texts), self._first_urgency)
        if texts.null_count < len(texts):
            parts = pc.extract_regex(texts, _COLUMN)
            readable = pc.is_valid(parts).to_numpy(zero_copy_only=False)
            parts = parts.filter(pa.array(readable))
            age = np.maximum(now // 1000 - _column(parts, "visited"), 0) / _DAY_S
            shape = np.maximum(_column(parts, "shape"), _MIN)
            days = np.maximum(_column(parts, "days"), _MIN)
            urgency[readable] = worths(shape, days, age) / self.price
        return pa.array(urgency, pa.float64())


def _text(fetched: int, estimate: ChangeRateEstimate) -> str:
    shape = min(max(estimate.shape, _MIN), 1e9)
    days = min(max(estimate.days, _MIN), 1e9)
    return f"{max(fetched, 0) // 1000} {shape:.6f} {days:.6f}"


def _stored_estimate(datum: CrawlDatum) -> tuple[int, ChangeRateEstimate] | None:
    """The last visit and what is believed since; None for a page of which nothing is known."""
    match = _TEXT.fullmatch(datum.metadata.get(VISITS_KEY, ""))
    if match is None:
        return None
    shape = max(float(match["shape"]), _MIN)
    days = max(float(match["days"]), _MIN)
    return int(match["visited"]), ChangeRateEstimate(shape, days)


def _column(parts: pa.StructArray, name: str) -> npt.NDArray[np.float64]:
    column: npt.NDArray[np.float64] = (
        pc.struct_field(parts, name).cast(pa.float64()).to_numpy(zero_copy_only=False)
    )
    return column
