"""What a crawl knows of a host as a whole: how long it is left alone, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace

import pyarrow as pa

from crawl.model.arrow import with_all_columns
from crawl.model.builders import rows_of, table_of_rows
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
    return [_merged(by_host[host]) for host in sorted(by_host)]


def _merged(troubles: list[HostTrouble]) -> HostTrouble:
    worst = max(troubles, key=lambda each: (each.gave_up, each.at, each.reason))
    return replace(
        worst,
        at=max(each.at for each in troubles),
        until=max(each.until for each in troubles),
        base_ms=max(each.base_ms for each in troubles),
    )


def troubles_table(troubles: Iterable[HostTrouble]) -> pa.Table:
    return table_of_rows([astuple(trouble) for trouble in troubles], FETCH_HOSTS.schema)


def to_troubles(table: pa.Table) -> Iterator[HostTrouble]:
    """What an older version wrote has fewer columns."""
    whole = with_all_columns(table, FETCH_HOSTS.schema)
    for *row, said in rows_of(whole, FETCH_HOSTS.names):
        yield HostTrouble(*[*row, said or ""])


def states_table(states: Iterable[HostState]) -> pa.Table:
    return table_of_rows([astuple(state) for state in states], HOSTS.schema)


def to_states(table: pa.Table) -> Iterator[HostState]:
    """As `to_troubles`."""
    for *row, said in rows_of(with_all_columns(table, HOSTS.schema), HOSTS.names):
        yield HostState(*[*row, said or ""])
