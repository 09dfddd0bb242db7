"""Which servers the service may ask now: none of those that a batch fetch has, and none at all
while nobody has looked for such a fetch lately.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from crawl.clock import Clock
from crawl.fetcher.values.item import FetchItem
from crawl.storage.fetch_lanes import LEASE_S

YIELDED = "yielded"
"""Why a URL is given back whose server a batch fetch has."""
NOT_LOOKED = "not_looked"
"""Why one is given back when nobody knows who has its server: the process stood still, or the
crawl's folder cannot be read."""


class ServerSet:
    """Servers by their keys, in eight bytes each: a fetch list may have millions. One that shares
    the hash of another is in it, too; it is left to the fetch without need."""

    def __init__(self, keys: Iterable[str] = (), *, is_every: bool = False) -> None:
        self.is_every = is_every
        hashes = np.fromiter(map(hash, keys), np.int64)
        self._hashes: npt.NDArray[np.int64] = np.unique(hashes)

    def __contains__(self, key: str) -> bool:
        if self.is_every:
            return True
        place = int(np.searchsorted(self._hashes, hash(key)))
        return place < len(self._hashes) and int(self._hashes[place]) == hash(key)

    def __len__(self) -> int:
        return len(self._hashes)


NOBODY = ServerSet()
EVERYBODY = ServerSet(is_every=True)


class SendGate:
    """Asked before each request by the threads that send; set by the one that looks."""

    def __init__(self, clock: Clock, lease_s: float = LEASE_S) -> None:
        self._clock = clock
        self._lease_s = lease_s
        self._looked_at = -math.inf
        self.yielded = EVERYBODY
        """The servers that are a fetch's to ask."""

    def renew(self, looked_at: float) -> None:
        """Somebody has looked, beginning at that moment."""
        self._looked_at = looked_at

    @property
    def is_open(self) -> bool:
        """Whether anybody may be asked."""
        is_leased = self._clock.monotonic() < self._looked_at + self._lease_s
        return is_leased and not self.yielded.is_every

    def may_send(self, item: FetchItem) -> bool | str:
        """The hook of the engine (`EngineHooks.may_send`)."""
        if item.key in self.yielded:
            return YIELDED
        return self._clock.monotonic() < self._looked_at + self._lease_s or NOT_LOOKED
