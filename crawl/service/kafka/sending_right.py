"""Whether a server is this process's to ask at this very moment."""

from __future__ import annotations

from collections.abc import Collection

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.fetcher.frontier.queue import ADDRESS_MARK
from crawl.fetcher.values.item import FetchItem
from crawl.service.kafka.lease import Lease
from crawl.service.kafka.partitions import Partitions


class SendingRight:
    """Asked by every thread that sends; changed by the one of the membership alone."""

    def __init__(
        self, partitions: Partitions, lease: Lease, clock: Clock, counters: Counters
    ) -> None:
        self.partitions = partitions
        self._lease = lease
        self._clock = clock
        self._counters = counters
        self._owned: frozenset[int] = frozenset()
        """Replaced as a whole: it is looked at before every request."""

    @property
    def owned(self) -> frozenset[int]:
        """The partitions whose servers are this process's."""
        return self._owned

    def take(self, partition: int) -> None:
        self._owned |= {partition}

    def drop(self, partitions: Collection[int]) -> None:
        """Nothing more is sent to servers of these."""
        self._owned -= frozenset(partitions)

    def holds(self) -> bool:
        """Whether the lease does."""
        return self._lease.holds(self._clock.monotonic())

    def may_send(self, item: FetchItem) -> bool | str:
        """The hook of the engine (EngineHooks.may_send): True, or why not."""
        if self.partitions.of_host(item.host) not in self._owned:
            self._counters["withheld.not_owner"] += 1
            return "not_owner"
        if not self.holds():
            self._counters["withheld.lease_over"] += 1
            return "lease_over"
        return True

    def is_in(self, key: str, partitions: Collection[int]) -> bool:
        """Whether the server of an engine's key is of one of these partitions."""
        return not key.startswith(ADDRESS_MARK) and self.partitions.of_host(key) in partitions
