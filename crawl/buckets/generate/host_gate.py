"""generate's word on whole hosts: which ones are left out for now, and which are only tried.

A host that answered nothing is left out until its wait is over. Then one URL of it is
selected, the best: thousands of URLs of hosts that are gone must not fill a segment.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.buckets.generate.ranking import Keys
from crawl.model.hosts import HostState
from crawl.rules.host_wait import waits_until
from crawl.storage.layout import encoded

HOST_WAITS = "host_waits"
HOST_PROBED = "host_probed"

_OPEN, _TRIED, _SHUT = 0, 1, 2


class HostGate:
    """The hosts of one bucket at a moment."""

    def __init__(self, states: Mapping[str, HostState], now_ms: int, longest_ms: int) -> None:
        self._until = {host: waits_until(state, longest_ms) for host, state in states.items()}
        self._verdicts = {
            host: _SHUT if self._until[host] > now_ms else _TRIED
            for host, state in states.items()
            if self._until[host] > now_ms or (state.failures and longest_ms)
        }
        self._numbers = {host: number for number, host in enumerate(self._verdicts)}
        self.waiting: set[str] = set()
        """Hosts of which a URL was left out so far."""

    @property
    def next_ms(self) -> int | None:
        """When the first of those that wait may be asked again."""
        return min((self._until[host] for host in self.waiting), default=None)

    def is_shut(self, hosts: pa.ChunkedArray, due: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Of each row, whether its host waits; of those that are due, the host is noted."""
        if not self._verdicts:
            return np.zeros(len(due), dtype=np.bool_)
        codes, names = _codes(hosts)
        shut = np.array([self._verdicts.get(name) == _SHUT for name in names], dtype=np.bool_)
        found: npt.NDArray[np.bool_] = shut[codes]
        self.waiting.update(names[code] for code in np.unique(codes[found & due]).tolist())
        return found

    def tried(self, hosts: pa.ChunkedArray) -> npt.NDArray[np.int32]:
        """Of each row, the number of its host, where that is only tried; else -1."""
        codes, names = _codes(hosts)
        numbers = np.array(
            [self._numbers[name] if self._verdicts.get(name) == _TRIED else -1 for name in names],
            dtype=np.int32,
        )
        return numbers[codes]


def best_of_tried(tried: npt.NDArray[np.int32], keys: Keys) -> npt.NDArray[np.bool_]:
    """True for all but the rows of hosts that are only tried, and for the best of each of those."""
    stays = tried < 0
    rows = np.flatnonzero(~stays)
    order = rows[np.lexsort((keys[rows], tried[rows]))]
    is_last = np.append(tried[order][1:] != tried[order][:-1], True)[: len(order)]
    stays[order[is_last]] = True
    return stays


def _codes(hosts: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], list[str]]:
    column = encoded(hosts)
    return column.indices.to_numpy(), column.dictionary.to_pylist()
