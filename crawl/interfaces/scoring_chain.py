"""The active scoring filters in order, by row and by column.

A plugin that raises is counted and has no opinion: a URL is never lost for a score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import SCORING_FILTER_ORDER
from crawl.counters import Counters
from crawl.interfaces.registry import Resolved, resolve
from crawl.interfaces.scoring import ScoringFilter
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.model.tables import CRAWLDB


@dataclass(frozen=True)
class ScoringChain:
    """Travels as names and configuration; the plugins are built where they are used."""

    plugins: tuple[Resolved, ...]
    config: Config

    @classmethod
    def from_config(cls, config: Config) -> ScoringChain:
        names: tuple[str, ...] = config[SCORING_FILTER_ORDER]
        chain = cls(resolve("scoring", names), config)
        _ = chain._filters  # a plugin that cannot be built is told now, on the driver
        return chain

    @cached_property
    def _filters(self) -> list[tuple[str, ScoringFilter]]:
        return [(plugin.name, plugin.build(self.config)) for plugin in self.plugins]

    def __getstate__(self) -> dict[str, object]:
        return {"plugins": self.plugins, "config": self.config}

    @property
    def changes_injected(self) -> bool:
        """Whether any plugin has a say in the score of a seed."""
        return any(
            type(plugin).injected_score is not ScoringFilter.injected_score
            for _, plugin in self._filters
        )

    def injected_score(self, url: str, datum: CrawlDatum, counters: Counters) -> CrawlDatum:
        for name, plugin in self._filters:
            try:
                datum = plugin.injected_score(url, datum)
            except Exception:
                counters[_error_of(name)] += 1
        return datum

    def before_parse(self, url: str, datum: CrawlDatum, counters: Counters) -> dict[str, str]:
        """What the content keeps of its record."""
        kept: dict[str, str] = {}
        for name, plugin in self._filters:
            try:
                kept.update(plugin.before_parse(url, datum))
            except Exception:
                counters[_error_of(name)] += 1
        return kept

    @property
    def needs_url_to_sort(self) -> bool:
        """Whether some plugin can rank URLs only row by row; asked of it with no rows."""
        none = CRAWLDB.schema.empty_table()
        for _, plugin in self._filters:
            try:
                by_column = plugin.sort_values(none, pa.array([], pa.float32())) is not None
            except Exception:
                by_column = False
            if not by_column and type(plugin).sort_value is not ScoringFilter.sort_value:
                return True
        return False

    def sort_values(self, datums: pa.Table, counters: Counters) -> pa.Array:
        """generate's rank of each row of a CrawlDb table."""
        values = pa.array(np.ones(datums.num_rows, dtype=np.float32))
        for name, plugin in self._filters:
            try:
                column = plugin.sort_values(datums, values)
                if column is not None:
                    values = _ranks(column, datums.num_rows)
                    continue
            except Exception:
                counters[_error_of(name)] += datums.num_rows
                continue
            values = self._by_row(name, plugin, datums, values, counters)
        return values

    def _by_row(
        self,
        name: str,
        plugin: ScoringFilter,
        datums: pa.Table,
        values: pa.Array,
        counters: Counters,
    ) -> pa.Array:
        if type(plugin).sort_value is ScoringFilter.sort_value:
            return values
        ranked: list[float] = []
        for (url, datum), value in zip(to_records(datums), values.to_pylist(), strict=True):
            try:
                ranked.append(float(plugin.sort_value(url, datum, value)))
            except Exception:
                counters[_error_of(name)] += 1
                ranked.append(value)
        return pa.array(ranked, pa.float32())


def _ranks(column: pa.Array, rows: int) -> pa.Array:
    """The plugin's column as ranks; ValueError where it does not rank every row."""
    if len(column) != rows or column.null_count:
        raise ValueError(f"{len(column)} ranks for {rows} rows")
    return column.cast(pa.float32())


def _error_of(name: str) -> str:
    return f"plugin_errors.scoring.{name}"
