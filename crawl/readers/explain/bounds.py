"""What the HostDb knows of a URL's host, and what follows for generate: at most how many URLs,
with what pause, and why."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import (
    GENERATE_FETCH_DELAY_EXPR,
    GENERATE_MAX_COUNT,
    GENERATE_MAX_COUNT_AUTO,
    GENERATE_MAX_COUNT_EXPR,
)
from crawl.errors import StorageError
from crawl.model.derived_tables import HOSTDB
from crawl.phases.generate.tasks.automatic_counts import explained_count
from crawl.phases.generate.tasks.host_bounds import bounds_of_values
from crawl.phases.generate.tasks.selection import host_expressions, is_automatic
from crawl.phases.updatehostdb.settings import HOSTDB_PERCENTILES
from crawl.phases.updatehostdb.tasks.read import find_host
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.hostdb import require_layout
from crawl.storage.manifest import Snapshot

_log = logging.getLogger(__name__)

EvaluateExpressions = Callable[[Snapshot, str], tuple[float | None, float | None]]
"""Of a state of the HostDb and a host: what `generate.max.count.expr` and
`generate.fetch.delay.expr` give."""

_BY_GENERATE_ALONE = "evaluated by generate alone"
_UNREADABLE = "the HostDb cannot be read"


@dataclass(frozen=True, slots=True)
class HostLimit:
    """A limit of a host: what it is and why."""

    value: int | None
    """None where there is none of the host's own, or where it is not known."""
    why: str

    @property
    def is_known(self) -> bool:
        return self.why not in (_BY_GENERATE_ALONE, _UNREADABLE)


@dataclass(frozen=True, slots=True)
class KnownHost:
    """What is known of a host."""

    host: str
    snapshot: int | None
    """Of the HostDb; None where there is none, or where it cannot be read."""
    values: dict[str, Any] | None
    """Its row; None where there is none."""
    max_count: HostLimit
    """Most URLs in a segment; negative: no limit."""
    delay_ms: HostLimit


def known_host(
    directory: CrawlDir, host: str, config: Config, evaluate: EvaluateExpressions | None = None
) -> KnownHost:
    """Asks the HostDb. Without `evaluate` expressions stay open. A damaged HostDb is warned of, and
    tells nothing: the URL is explained without it."""
    dataset = directory.dataset(HOSTDB)
    percentiles = config[HOSTDB_PERCENTILES]
    values: dict[str, Any] | None = None
    try:
        state = dataset.current()
        try:
            if state is not None:
                require_layout(directory, state)
                values = find_host(dataset.folder, state, host, percentiles)
        except StorageError:
            if state is None or state.number in dataset.timeline().numbers:
                raise
            state = dataset.require_current()  # the one before was forgotten meanwhile
            values = find_host(dataset.folder, state, host, percentiles)
    except StorageError as error:
        _log.warning("%s; explained without it", error)
        open_limit = HostLimit(None, _UNREADABLE)
        return KnownHost(host, None, None, open_limit, open_limit)
    count, delay = _limits(config, state, host, values, evaluate)
    return KnownHost(host, state.number if state else None, values, count, delay)


def _limits(
    config: Config,
    state: Snapshot | None,
    host: str,
    values: dict[str, Any] | None,
    evaluate: EvaluateExpressions | None,
) -> tuple[HostLimit, HostLimit]:
    expressions = host_expressions(config)
    by_count, by_delay = GENERATE_MAX_COUNT_EXPR.name, GENERATE_FETCH_DELAY_EXPR.name
    usual = _usual_count(config, values)
    if state is None or values is None or not expressions:
        return usual, HostLimit(None, "")
    if evaluate is None:
        left_open = HostLimit(None, _BY_GENERATE_ALONE)
        return left_open if by_count in expressions else usual, (
            left_open if by_delay in expressions else HostLimit(None, "")
        )
    count, delay = _whole(host, *evaluate(state, host))
    count_limit = (
        usual if count is None else HostLimit(count, f"{by_count}: {expressions[by_count]}")
    )
    if by_delay not in expressions:
        return count_limit, HostLimit(None, "")
    why = f"{by_delay}: {expressions[by_delay]}"
    return count_limit, HostLimit(delay, why if delay is not None else f"{why} is NULL")


def _whole(host: str, count: float | None, delay: float | None) -> tuple[int | None, int | None]:
    """The values as generate takes them."""
    row = bounds_of_values(
        pa.array([host]), pa.array([count], pa.float64()), pa.array([delay], pa.float64())
    )
    return row["max_count"][0].as_py(), row["delay_ms"][0].as_py()


def _usual_count(config: Config, values: dict[str, Any] | None) -> HostLimit:
    """The bound where no expression has a word."""
    if not is_automatic(config):
        return HostLimit(None, f"{GENERATE_MAX_COUNT.name}")
    most = config[GENERATE_MAX_COUNT_AUTO]
    name = f"{GENERATE_MAX_COUNT.name}=auto"
    if values is None:
        return HostLimit(most, f"{name}: the HostDb does not know the host")
    pages = values["pages"]
    count, why = explained_count(
        most,
        values["requests"],
        values["failed"] + values["refused"],
        pages,
        1 - values["distinct_pages"] / pages if pages else 0.0,  # the column's is rounded here
        values["failures"],
    )
    return HostLimit(count, f"{name}: {why}")
