"""The second gate of hosts that share an IP address."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from crawl.fetcher.frontier.queue import HostQueue


@dataclass(slots=True, eq=False)
class AddressGate:
    """One IP address: at most one request at a time, and a pause after each."""

    busy: bool = False
    ready_at: float = 0.0
    waiting: deque[HostQueue] = field(default_factory=deque)
    """Ready, but for the address."""
    called: HostQueue | None = None
    """The queue that may pass next: one at a time, however many hosts share the address."""
