"""The one active fetch schedule, by row and by column.

A schedule that raises or answers what cannot be stored is counted, and the URL is due all
the same: a fault must not make a page vanish from the crawl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT, DB_FETCH_SCHEDULE_CLASS
from crawl.config.property import LONGEST_INTERVAL
from crawl.counters import Counters
from crawl.interfaces.faults import CountedFaults
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.interfaces.schedule import FetchSchedule, PageChange
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.model.table import TIMESTAMP
from crawl.model.tables import CRAWLDB
from crawl.model.value import replace

_DAY_MS = 86_400_000
_MAX_RETRIES = 2**15 - 1
_LATEST = 2**53
"""Milliseconds; the year 287396: whatever is later is no due time."""


@dataclass(frozen=True)
class ActiveSchedule:
    """Travels as a name and configuration; the plugin is built where it is used."""

    plugin: ResolvedPlugin
    config: Config

    @classmethod
    def from_config(cls, config: Config) -> ActiveSchedule:
        (plugin,) = resolve("schedule", [config[DB_FETCH_SCHEDULE_CLASS]])
        active = cls(plugin, config)
        _ = active.schedule  # a plugin that cannot be built fails now, on the driver
        return active

    @cached_property
    def schedule(self) -> FetchSchedule:
        built: FetchSchedule = self.plugin.build(self.config)
        return built

    @cached_property
    def _error(self) -> str:
        return f"plugin_errors.schedule.{self.plugin.name}"

    @cached_property
    def _default(self) -> int:
        return int(self.config[DB_FETCH_INTERVAL_DEFAULT])

    def __getstate__(self) -> dict[str, object]:
        return {"plugin": self.plugin, "config": self.config}

    # --- generate ----------------------------------------------------------------------
    @property
    def needs_url(self) -> bool:
        """Whether the schedule can only answer row by row; asked of it with no rows."""
        try:
            return self.schedule.should_fetch_batch(CRAWLDB.schema.empty_table(), 0) is None
        except Exception:
            return True

    def due(self, datums: pa.Table, now: int, counters: Counters) -> pa.Array[Any]:
        """Which rows of a CrawlDb table are due."""
        try:
            column = self.schedule.should_fetch_batch(datums, now)
            if column is not None:
                return _answers(column, datums.num_rows)
        except Exception:
            counters[self._error] += datums.num_rows
            return pa.repeat(True, datums.num_rows)
        answers: list[bool] = []
        for url, datum in to_records(datums):
            answers.append(True)
            with self._counted(counters):
                answers[-1] = bool(self.schedule.should_fetch(url, datum, now))
        return pa.array(answers, pa.bool_())

    @property
    def ranks(self) -> bool:
        """Whether the schedule has a say in the order of what is due."""
        unsaid = FetchSchedule.urgency_batch
        return getattr(type(self.schedule), "urgency_batch", unsaid) is not unsaid

    def ranked(
        self, datums: pa.Table, values: pa.Array[Any], now: int, counters: Counters
    ) -> pa.Array[Any]:
        """generate's ranks times the schedule's urgency; after a fault as scoring has them."""
        if not self.ranks:
            return values
        with self._counted(counters, datums.num_rows):
            urgency = self.schedule.urgency_batch(datums, now)
            if urgency is None or len(urgency) != len(values) or urgency.null_count:
                raise ValueError(f"no urgency for each of {len(values)} rows")
            urgency = urgency.cast(pa.float32())
            if pc.any(
                pc.or_(pc.is_nan(urgency), pc.less(urgency, pa.scalar(0.0, pa.float32())))
            ).as_py():
                raise ValueError("an urgency below 0, or no number")
            return pc.multiply(values, urgency)
        return values

    # --- a URL enters ------------------------------------------------------------------
    def initialize(self, url: str, datum: CrawlDatum, now: int, counters: Counters) -> CrawlDatum:
        """Due now; after a fault too."""
        with self._counted(counters):
            return _storable(self.schedule.initialize(url, datum, now))
        return replace(datum, fetch_time=now, fetch_interval=self._default, retries=0)

    def initialize_batch(self, datums: pa.Table, now: int, counters: Counters) -> pa.Table:
        """`initialize` for a table of CrawlDb columns, in their order."""
        try:
            table = self.schedule.initialize_batch(datums, now)
            if table is not None:
                return _same_rows(table, datums)
        except Exception:
            counters[self._error] += datums.num_rows
            return with_times(datums, now, self._default)
        started = to_table(
            (url, "", self.initialize(url, datum, now, counters))
            for url, datum in to_records(datums)
        )
        names = ("fetch_time", "fetch_interval", "retries", "modified_time", "metadata")
        return _replaced(datums, {name: started[name] for name in names})

    # --- updatedb ----------------------------------------------------------------------
    def after_fetch(
        self,
        url: str,
        datum: CrawlDatum,
        *,
        previous_modified: int,
        fetched: int,
        modified: int,
        change: PageChange,
        counters: Counters,
    ) -> CrawlDatum:
        """The page was reached; after a fault it is due again after its interval."""
        with self._counted(counters):
            after = self.schedule.after_fetch(
                url,
                datum,
                previous_modified=previous_modified,
                fetched=fetched,
                modified=modified,
                change=change,
            )
            return _storable(after)
        return replace(self._after_interval(datum, fetched), retries=0)

    def after_gone(
        self, url: str, datum: CrawlDatum, *, fetched: int, counters: Counters
    ) -> CrawlDatum:
        """The page is gone; after a fault it is due again after its interval."""
        with self._counted(counters):
            return _storable(self.schedule.after_gone(url, datum, fetched=fetched))
        return self._after_interval(datum, fetched)

    def after_retry(
        self, url: str, datum: CrawlDatum, *, fetched: int, counters: Counters
    ) -> CrawlDatum:
        """One retry more; after a fault of the schedule a day later."""
        with self._counted(counters):
            return _storable(self.schedule.after_retry(url, datum, fetched=fetched))
        retries = min(datum.retries + 1, _MAX_RETRIES)
        return replace(datum, fetch_time=fetched + _DAY_MS, retries=retries)

    def last_fetch_time(self, datum: CrawlDatum, counters: Counters) -> int:
        """When the URL was last fetched; after a fault 0, as if never."""
        with self._counted(counters):
            return int(self.schedule.last_fetch_time(datum))
        return 0

    def force_refetch(
        self, url: str, datum: CrawlDatum, now: int, *, asap: bool, counters: Counters
    ) -> CrawlDatum:
        """What is known of the page is forgotten; after a fault it is due now."""
        with self._counted(counters):
            return _storable(self.schedule.force_refetch(url, datum, now, asap=asap))
        return CrawlDatum(
            Status.DB_UNFETCHED,
            now,
            fetch_interval=self._default,
            score=datum.score,
            metadata=datum.metadata,
        )

    def _after_interval(self, datum: CrawlDatum, fetched: int) -> CrawlDatum:
        interval = min(datum.fetch_interval, LONGEST_INTERVAL)
        if interval <= 0:
            interval = self._default
        return replace(datum, fetch_interval=interval, fetch_time=fetched + interval * 1000)

    def _counted(self, counters: Counters, rows: int = 1) -> CountedFaults:
        return CountedFaults(counters, self._error, rows)


def with_times(datums: pa.Table, now: int, interval: int) -> pa.Table:
    """The rows as new ones: due `now`, no retries."""
    rows = datums.num_rows
    return _replaced(
        datums,
        {
            "fetch_time": pa.array(np.full(rows, now, dtype=np.int64)).cast(TIMESTAMP),
            "fetch_interval": pa.array(np.full(rows, interval, dtype=np.int32)),
            "retries": pa.array(np.zeros(rows, dtype=np.int16)),
        },
    )


def _replaced(
    datums: pa.Table, columns: Mapping[str, pa.Array[Any] | pa.ChunkedArray[Any]]
) -> pa.Table:
    schema = datums.schema
    for name, column in columns.items():
        place = schema.get_field_index(name)
        datums = datums.set_column(place, schema.field(place), column)
    return datums


def _same_rows(table: pa.Table, datums: pa.Table) -> pa.Table:
    """The plugin's table if it can stand for the given one; ValueError where it cannot."""
    if table.num_rows != datums.num_rows or not table.schema.equals(datums.schema):
        raise ValueError(f"{table.num_rows} rows for {datums.num_rows}, or other columns")
    for name in ("fetch_time", "fetch_interval", "retries"):
        if table[name].null_count:
            raise ValueError(f"rows without {name}")
    return table


def _storable(datum: CrawlDatum) -> CrawlDatum:
    """The schedule's record if the CrawlDb can hold it; ValueError where it cannot."""
    if (
        not isinstance(datum, CrawlDatum)
        or type(datum.fetch_time) is not int
        or type(datum.fetch_interval) is not int
        or not 0 <= datum.fetch_interval <= LONGEST_INTERVAL
        or not 0 <= datum.retries <= _MAX_RETRIES
        or not -_LATEST <= datum.fetch_time <= _LATEST
    ):
        raise ValueError(f"no record that can be stored: {datum!r}")
    return datum


def _answers(column: pa.Array[Any], rows: int) -> pa.Array[Any]:
    """The plugin's column if it can be one answer a row; ValueError where it cannot."""
    if not pa.types.is_boolean(column.type) or len(column) != rows or column.null_count:
        raise ValueError(f"{len(column)} answers of type {column.type} for {rows} rows")
    return column
