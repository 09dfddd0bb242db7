"""The one active fetch schedule, by row and by column.

A schedule that raises is counted, and the URL counts as due: a fault must not make a
page vanish from the crawl.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import DB_FETCH_SCHEDULE_CLASS
from crawl.counters import Counters
from crawl.interfaces.registry import Resolved, resolve
from crawl.interfaces.schedule import FetchSchedule
from crawl.model.records import to_records
from crawl.model.tables import CRAWLDB


@dataclass(frozen=True)
class ActiveSchedule:
    """Travels as a name and configuration; the plugin is built where it is used."""

    plugin: Resolved
    config: Config

    @classmethod
    def from_config(cls, config: Config) -> ActiveSchedule:
        (plugin,) = resolve("schedule", [config[DB_FETCH_SCHEDULE_CLASS]])
        active = cls(plugin, config)
        _ = active.schedule  # a plugin that cannot be built is told now, on the driver
        return active

    @cached_property
    def schedule(self) -> FetchSchedule:
        built: FetchSchedule = self.plugin.build(self.config)
        return built

    def __getstate__(self) -> dict[str, object]:
        return {"plugin": self.plugin, "config": self.config}

    @property
    def needs_url(self) -> bool:
        """Whether the schedule can only answer row by row; asked of it with no rows."""
        try:
            return self.schedule.should_fetch_batch(CRAWLDB.schema.empty_table(), 0) is None
        except Exception:
            return True

    def due(self, datums: pa.Table, now: int, counters: Counters) -> pa.Array:
        """Which rows of a CrawlDb table are due."""
        error = f"plugin_errors.schedule.{self.plugin.name}"
        try:
            column = self.schedule.should_fetch_batch(datums, now)
            if column is not None:
                return _answers(column, datums.num_rows)
        except Exception:
            counters[error] += datums.num_rows
            return pa.repeat(True, datums.num_rows)
        answers: list[bool] = []
        for url, datum in to_records(datums):
            try:
                answers.append(bool(self.schedule.should_fetch(url, datum, now)))
            except Exception:
                counters[error] += 1
                answers.append(True)
        return pa.array(answers, pa.bool_())


def _answers(column: pa.Array, rows: int) -> pa.Array:
    """The plugin's column if it can be one answer a row; ValueError where it cannot."""
    if not pa.types.is_boolean(column.type) or len(column) != rows or column.null_count:
        raise ValueError(f"{len(column)} answers of type {column.type} for {rows} rows")
    return column
