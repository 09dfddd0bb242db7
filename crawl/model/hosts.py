"""What a crawl knows of a host as a whole: how long it is left alone, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

import pyarrow as pa

from crawl.model.tables import FETCH_HOSTS, HOSTS

UNANSWERED = "robots_unanswered"
"""The reason where a host was given up at the end of a fetch before its time was up."""


@dataclass(frozen=True, slots=True)
class HostTrouble:
    """What one fetch tells of a host that failed it. Moments are in milliseconds."""

    host: str
    reason: str
    """As its URLs were handed back: `robots_deferred`, `too_many_failures` …"""
    at: int
    """When it last failed."""
    until: int
    """Until when it must not be asked: its Retry-After, or the pause after a failure."""
    base_ms: int
    """The pause that is doubled with each round in vain."""
    gave_up: bool
    """Whether its URLs were handed back; False where a pause was still owed at the end."""
    said: str = ""
    """What it last answered, `503, Retry-After 3600`, or how it failed to, for people."""


@dataclass(frozen=True, slots=True)
class HostState:
    """What the CrawlDb keeps of a host. Most hosts have none: they answer."""

    host: str
    reason: str = ""
    """Of the last trouble; of one that answers only UNANSWERED is kept, for it may be slow."""
    failures: int = 0
    """Rounds in a row in which it gave no page."""
    wait_until: int = 0
    since: int = 0
    """When the first of these rounds failed."""
    last: int = 0
    """When it last failed."""
    pages: int = 0
    """Pages fetched for the first time that were looked at for `repeats`."""
    repeats: int = 0
    """How many of these pages have the `signature`."""
    signature: bytes | None = None
    """The signature that most of its new pages have in common."""
    slowed: int = 0
    """Rounds in a row whose new pages were all but the same."""
    slow_until: int = 0
    """No new URL of the host is selected until then."""
    said: str = ""
    """What it said when it was last in trouble."""


def merged_troubles(troubles: Iterable[HostTrouble]) -> list[HostTrouble]:
    """One a host, in order of hosts: what several tasks of one fetch tell of it."""
    by_host: dict[str, list[HostTrouble]] = {}
    for trouble in troubles:
        by_host.setdefault(trouble.host, []).append(trouble)
    return [_merged(host, by_host[host]) for host in sorted(by_host)]


def _merged(host: str, troubles: list[HostTrouble]) -> HostTrouble:
    worst = max(troubles, key=lambda each: (each.gave_up, each.at, each.reason))
    return HostTrouble(
        host,
        worst.reason,
        max(each.at for each in troubles),
        max(each.until for each in troubles),
        max(each.base_ms for each in troubles),
        worst.gave_up,
        worst.said,
    )


def troubles_table(troubles: Iterable[HostTrouble]) -> pa.Table:
    return _table([astuple(trouble) for trouble in troubles], FETCH_HOSTS.schema)


def to_troubles(table: pa.Table) -> Iterator[HostTrouble]:
    for row in _rows(table, FETCH_HOSTS.schema):
        yield HostTrouble(*row)


def complete_troubles(table: pa.Table) -> pa.Table:
    """The table with all columns: what an older version wrote has fewer."""
    return _complete(table, FETCH_HOSTS.schema)


def states_table(states: Iterable[HostState]) -> pa.Table:
    return _table([astuple(state) for state in states], HOSTS.schema)


def to_states(table: pa.Table) -> Iterator[HostState]:
    for row in _rows(table, HOSTS.schema):
        yield HostState(*row)


def _table(rows: list[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _complete(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def _rows(table: pa.Table, schema: pa.Schema) -> Iterator[tuple[Any, ...]]:
    columns = []
    table = _complete(table, schema)
    for field in schema:
        column = table[field.name]
        is_time = pa.types.is_timestamp(field.type)
        values = (column.cast(pa.int64()) if is_time else column).to_pylist()
        columns.append([each or "" for each in values] if field.name == "said" else values)
    return zip(*columns, strict=True)
