"""The active scoring filters in order, by row and by column.

A plugin that raises is counted and has no opinion: a URL is never lost for a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import SCORING_FILTER_ORDER
from crawl.counters import Counters
from crawl.interfaces.faults import CountedFaults
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.interfaces.scoring import Inlinks, Links, Scores, ScoringFilter, Target
from crawl.interfaces.scoring_answers import (
    checked_datum,
    checked_metadata,
    checked_number,
    checked_parse,
    checked_ranks,
    checked_scores,
    checked_targets,
    stored_scores,
)
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.records import to_records
from crawl.model.tables import CRAWLDB

Moment = Literal[
    "injected_score",
    "initial_score",
    "sort_value",
    "before_parse",
    "after_parse",
    "distribute",
    "update_score",
    "orphaned_score",
    "indexer_score",
]

_Counted = tuple[str, ScoringFilter]
"""The counter of a plugin's faults, and the plugin."""


@dataclass(frozen=True)
class ScoringChain:
    """Travels as names and configuration; the plugins are built where they are used."""

    plugins: tuple[ResolvedPlugin, ...]
    config: Config

    @classmethod
    def from_config(cls, config: Config) -> ScoringChain:
        names: tuple[str, ...] = config[SCORING_FILTER_ORDER]
        chain = cls(resolve("scoring", names), config)
        pinned: dict[str, str] = {}
        for _, plugin in chain._filters:  # one that cannot be built fails now, on the driver
            pins = getattr(plugin, "pinned_settings", None)  # older plugins have none
            pinned |= pins() if pins is not None else {}
        return cls(chain.plugins, config.with_values(pinned)) if pinned else chain

    @cached_property
    def _filters(self) -> list[_Counted]:
        return [
            (f"plugin_errors.scoring.{plugin.name}", plugin.build(self.config))
            for plugin in self.plugins
        ]

    def __getstate__(self) -> dict[str, object]:
        return {"plugins": self.plugins, "config": self.config}

    def has_moment(self, moment: Moment) -> bool:
        """Whether any plugin has a say in it; where none has, callers may skip the moment."""
        return bool(self._at(moment))

    def _at(self, moment: Moment) -> list[_Counted]:
        plugins = self._by_moment.get(moment)
        if plugins is None:
            plugins = [each for each in self._filters if _overrides(each[1], moment)]
            self._by_moment[moment] = plugins
        return plugins

    @cached_property
    def _by_moment(self) -> dict[str, list[_Counted]]:
        return {}

    # --- a URL enters ------------------------------------------------------------------
    def injected_score(self, url: str, datum: CrawlDatum, counters: Counters) -> CrawlDatum:
        for faults, plugin in self._at("injected_score"):
            try:
                datum = checked_datum(plugin.injected_score(url, datum))
            except Exception:
                counters[faults] += 1
        return datum

    def initial_score(self, url: str, datum: CrawlDatum, counters: Counters) -> CrawlDatum:
        for faults, plugin in self._at("initial_score"):
            try:
                datum = checked_datum(plugin.initial_score(url, datum))
            except Exception:
                counters[faults] += 1
        return datum

    @property
    def can_start_by_column(self) -> bool:
        """Whether `initial_scores` says all that `initial_score` would."""
        return all(_overrides(plugin, "initial_scores") for _, plugin in self._at("initial_score"))

    def initial_scores(self, datums: pa.Table, counters: Counters) -> Scores:
        """The scores of URLs that are new; only where `can_start_by_column`."""
        scores = stored_scores(datums)
        for faults, plugin in self._at("initial_score"):
            with CountedFaults(counters, faults, datums.num_rows):
                scores = checked_scores(plugin.initial_scores(datums, scores), datums.num_rows)
        return scores

    # --- a page is fetched and parsed --------------------------------------------------
    def before_parse(self, url: str, datum: CrawlDatum, counters: Counters) -> dict[str, str]:
        """What the content keeps of its record."""
        metadata: dict[str, str] = {}
        for faults, plugin in self._at("before_parse"):
            try:
                metadata.update(checked_metadata(plugin.before_parse(url, datum)))
            except Exception:
                counters[faults] += 1
        return metadata

    def after_parse(self, url: str, content: Content, parse: Parse, counters: Counters) -> Parse:
        for faults, plugin in self._at("after_parse"):
            try:
                parse = checked_parse(plugin.after_parse(url, content, parse))
            except Exception:
                counters[faults] += 1
        return parse

    def distribute(
        self,
        parse: Parse,
        content: Content,
        targets: Sequence[Target],
        all_count: int,
        counters: Counters,
    ) -> Sequence[Target]:
        """The targets in their order, some maybe left out."""
        for faults, plugin in self._at("distribute"):
            try:
                answer = plugin.distribute(parse, content, targets, all_count)
                targets = checked_targets(targets, answer)
            except Exception:
                counters[faults] += 1
        return targets

    # --- updatedb ----------------------------------------------------------------------
    def update_score(
        self,
        url: str,
        old: CrawlDatum | None,
        datum: CrawlDatum,
        inlinks: Inlinks,
        now: int,
        counters: Counters,
    ) -> CrawlDatum:
        for faults, plugin in self._at("update_score"):
            try:
                datum = checked_datum(plugin.update_score(url, old, datum, inlinks, now))
            except Exception:
                counters[faults] += 1
        return datum

    @property
    def can_update_by_column(self) -> bool:
        """Whether `update_scores` says all that `update_score` would of a linked URL."""
        return all(_overrides(plugin, "update_scores") for _, plugin in self._at("update_score"))

    @property
    def may_combine_links(self) -> bool:
        """Whether no plugin looks at more of a link to a URL than its score and metadata."""
        return all(_combines_links(type(plugin)) for _, plugin in self._at("update_score"))

    def update_scores(self, old: pa.Table, links: Links, now: int, counters: Counters) -> Scores:
        """The scores of rows to which nothing happened but links, starting from those of the
        table; only where `can_update_by_column`."""
        scores = stored_scores(old)
        for faults, plugin in self._at("update_score"):
            with CountedFaults(counters, faults, old.num_rows):
                scores = checked_scores(plugin.update_scores(old, scores, links, now), old.num_rows)
        return scores

    def orphaned_score(
        self, url: str, datum: CrawlDatum, now: int, counters: Counters
    ) -> CrawlDatum:
        for faults, plugin in self._at("orphaned_score"):
            try:
                datum = checked_datum(plugin.orphaned_score(url, datum, now))
            except Exception:
                counters[faults] += 1
        return datum

    def orphans(self, datums: pa.Table, now: int, counters: Counters) -> npt.NDArray[np.bool_]:
        """The rows that must be handed to `orphaned_score`; the others it leaves alone."""
        asked = np.zeros(datums.num_rows, dtype=np.bool_)
        for faults, plugin in self._at("orphaned_score"):
            with CountedFaults(counters, faults, datums.num_rows):
                some = plugin.orphans(datums, now)
                if some is None:
                    return np.ones(datums.num_rows, dtype=np.bool_)
                if some.shape != asked.shape or some.dtype != np.bool_:
                    raise ValueError(f"{some.dtype}{some.shape} for {datums.num_rows} rows")
                asked |= some
        return asked

    # --- index -------------------------------------------------------------------------
    def indexer_score(
        self, url: str, datum: CrawlDatum, parse: Parse, value: float, counters: Counters
    ) -> float:
        for faults, plugin in self._at("indexer_score"):
            try:
                value = checked_number(plugin.indexer_score(url, datum, parse, value))
            except Exception:
                counters[faults] += 1
        return value

    # --- generate ----------------------------------------------------------------------
    @property
    def needs_url_to_sort(self) -> bool:
        """Whether some plugin can rank URLs only row by row; asked of it with no rows."""
        none = CRAWLDB.schema.empty_table()
        for _, plugin in self._filters:
            try:
                by_column = plugin.sort_values(none, pa.array([], pa.float32())) is not None
            except Exception:
                by_column = False
            if not by_column and _overrides(plugin, "sort_value"):
                return True
        return False

    def sort_values(self, datums: pa.Table, counters: Counters) -> pa.Array[Any]:
        """generate's rank of each row of a CrawlDb table."""
        values: pa.Array[Any] = pa.array(np.ones(datums.num_rows, dtype=np.float32))
        for faults, plugin in self._filters:
            ranks: pa.Array[Any] | None = values
            with CountedFaults(counters, faults, datums.num_rows):
                column = plugin.sort_values(datums, values)
                ranks = None if column is None else checked_ranks(column, datums.num_rows)
            values = _by_row(faults, plugin, datums, values, counters) if ranks is None else ranks
        return values


def _by_row(
    faults: str, plugin: ScoringFilter, datums: pa.Table, values: pa.Array[Any], counters: Counters
) -> pa.Array[Any]:
    if not _overrides(plugin, "sort_value"):
        return values
    ranked: list[float] = []
    numbers: list[Any] = values.to_pylist()
    for (url, datum), value in zip(to_records(datums), numbers, strict=True):
        ranked.append(value)
        try:
            ranked[-1] = checked_number(plugin.sort_value(url, datum, value))
        except Exception:
            counters[faults] += 1
    return pa.array(ranked, pa.float32())


def _overrides(plugin: ScoringFilter, method: str) -> bool:
    return getattr(type(plugin), method) is not getattr(ScoringFilter, method)


def _combines_links(plugin: type[ScoringFilter]) -> bool:
    """What the class says that has the method, or one that is built on it: what is said of a
    method does not hold for one that overrides it."""
    for each in plugin.__mro__:
        if "may_combine_links" in vars(each):
            return bool(plugin.may_combine_links)
        if "update_score" in vars(each):
            return False
    return False
