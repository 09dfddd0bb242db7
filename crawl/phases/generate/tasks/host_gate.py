"""Which hosts generate leaves out for now, and of which it takes only a few URLs.

A host that gave no page is left out until its wait is over. Then one URL of it is
selected, the best: thousands of URLs of hosts that are gone must not fill a segment. A host
whose new pages are all the same has no new URL selected for a while, and then a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.model.arrow import strings
from crawl.model.hosts import HostState
from crawl.model.status import Status
from crawl.phases.generate.tasks.arrays import Keys, Mask, Shards
from crawl.rules.host_wait import waits_until
from crawl.storage.layout import encoded

HOST_WAITS = "host_waits"
HOST_PROBED = "host_probed"
SAME_PAGES = "trap.same_signature"
"""New URLs of a host whose new pages were all but the same (see phases/updatedb/same_pages)."""
TRIED_OF_SLOWED = 10
"""New URLs of such a host that are selected when its wait is over: one alone tells little."""


class HostGate:
    """The hosts of one bucket at a moment."""

    def __init__(self, states: Mapping[str, HostState], now_ms: int, longest_ms: int) -> None:
        self._until = {host: waits_until(state, longest_ms) for host, state in states.items()}
        self._shut = {host for host, until in self._until.items() if until > now_ms}
        vain = {host for host, state in states.items() if state.failures and longest_ms}
        self._probed = _numbered(vain - self._shut)
        slowed = {host for host, state in states.items() if state.slowed and longest_ms}
        self._stopped = {host for host in slowed if states[host].slow_until > now_ms}
        self._slowed = _numbered(slowed - self._stopped)
        self._until.update({host: states[host].slow_until for host in self._stopped - self._shut})
        self.waiting: set[str] = set()
        """Hosts of which a URL was left out so far."""

    @property
    def next_ms(self) -> int | None:
        """When the first of those that wait may be asked again."""
        return min((self._until[host] for host in self.waiting), default=None)

    def waits(self, rows: pa.Table, due: Mask) -> Mask:
        """Whether each row's host waits; the hosts of those that are due are noted."""
        return self._left_out(rows, due, self._shut)

    def is_stopped(self, rows: pa.Table, due: Mask) -> Mask:
        """Whether each row is a new URL of a host that must not have any for now."""
        return self._left_out(rows, due & _is_new(rows), self._stopped) & _is_new(rows)

    def probed(self, rows: pa.Table) -> Shards:
        """The number of each row's host, where only one URL of it is tried; else -1."""
        return _numbers(rows["host"], self._probed)

    def slowed(self, rows: pa.Table) -> Shards:
        """The number of each row's host, where the row is one of several new URLs of which only
        some are tried; else -1."""
        return np.where(_is_new(rows), _numbers(rows["host"], self._slowed), np.int32(-1))

    def _left_out(self, rows: pa.Table, due: Mask, among: set[str]) -> Mask:
        if not among:
            return np.zeros(rows.num_rows, dtype=np.bool_)
        codes, names = _codes(rows["host"])
        is_among = np.array([name in among for name in names], bool)[codes]
        self.waiting.update(names[code] for code in np.unique(codes[is_among & due]).tolist())
        return is_among


def best_of_tried(tried: npt.NDArray[np.integer], keys: Keys, most: int = 1) -> Mask:
    """True for all but the rows of hosts that are only tried, and for the best of each of those."""
    stays = tried < 0
    rows = np.flatnonzero(~stays)
    order = rows[np.lexsort((~keys[rows], tried[rows]))]  # the best of each host first
    starts = np.flatnonzero(np.append(True, tried[order][1:] != tried[order][:-1])[: len(order)])
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    stays[order[place < most]] = True
    return stays


def _numbered(hosts: Iterable[str]) -> dict[str, int]:
    return {host: number for number, host in enumerate(sorted(hosts))}


def _numbers(hosts: pa.ChunkedArray[Any], numbers: Mapping[str, int]) -> Shards:
    if not numbers:
        return np.full(len(hosts), -1, dtype=np.int32)
    codes, names = _codes(hosts)
    return np.array([numbers.get(name, -1) for name in names], np.int32)[codes]


def _is_new(rows: pa.Table) -> Mask:
    return np.asarray(rows["status"].to_numpy() == int(Status.DB_UNFETCHED))


def _codes(hosts: pa.ChunkedArray[Any]) -> tuple[Shards, list[str]]:
    column = encoded(hosts)
    return column.indices.to_numpy(), strings(column.dictionary)
