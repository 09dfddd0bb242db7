"""The URLs of one server, and when it may be asked next.

A queue knows no threads and no clock: it is given the time. Who takes an item owns one of the
server's slots until it is given back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from crawl.fetcher.values.item import FetchItem, Purpose
from crawl.fetcher.values.politeness import ServerPace

ADDRESS_MARK = "@"
"""Stands before an address that hosts share, where a server's key is meant: no key has it."""


@dataclass(frozen=True, slots=True)
class Idle:
    """No server may be asked now."""

    until: float | None
    """The moment at which one may be; None while that depends on a request under way, or if
    nothing is left at all."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The pause and the failures of a server, for the next engine that asks it."""

    key: str
    pause_s: float
    """How long it must not be asked."""
    exceptions: int = 0
    closed_reason: str = ""
    counts_s: float = 0.0
    """How long another failure would be one more in a row."""
    min_delay_s: float = 0.0
    """The pause that its robots.txt asks for; 0 where it asks for none."""
    wait_reason: str = ""
    """Why it waits; empty for the usual pause."""


@dataclass(slots=True, eq=False)
class HostQueue:
    """What waits for one server."""

    key: str
    pace: ServerPace
    pages: deque[FetchItem] = field(default_factory=deque)
    robots: deque[FetchItem] = field(default_factory=deque)
    """Served first, and also while the pages are held back."""
    in_progress: int = 0
    ready_at: float = 0.0
    """No request may start before this moment."""
    wait_reason: str = ""
    """Why it waits until then; empty for its usual pause."""
    exceptions: int = 0
    """Failures in a row."""
    awaited_rules: int = 0
    """How many authorities' rules are asked for; the pages are held back until all are there."""
    closed_reason: str = ""
    """Why nothing more is taken in; empty while the queue is open."""
    min_delay_s: float = 0.0
    """The pause that robots.txt asks for: nothing else shortens it."""
    taken_at: float = 0.0
    """When the last item was handed out."""
    answer_s: float = 0.0
    """How long the server took for its last answer; 0 before the first."""
    is_scheduled: bool = False
    """Whether it stands in the heap of the queues that will be served, or at an address gate."""

    @property
    def waiting(self) -> int:
        return len(self.pages) + len(self.robots)

    @property
    def has_work(self) -> bool:
        """Whether an item could be taken if the time had come."""
        if self.in_progress >= self.pace.at_once:
            return False
        return bool(self.robots) or (bool(self.pages) and not self.awaited_rules)

    @property
    def next_host(self) -> str:
        """The host that the next item asks; there must be one."""
        return (self.robots or self.pages)[0].host

    def put(self, item: FetchItem, *, first: bool = False) -> None:
        line = self.robots if item.purpose is Purpose.ROBOTS else self.pages
        if first:
            line.appendleft(item)
        else:
            line.append(item)

    def take(self) -> FetchItem:
        """Hands out the next item; the caller has asked `has_work` and looked at the clock."""
        self.in_progress += 1
        return self.robots.popleft() if self.robots else self.pages.popleft()

    def give_back(self, now: float, *, asked: bool) -> None:
        """Frees the slot. Where the server was asked, its pause begins now."""
        self.in_progress -= 1
        if asked:
            self.answer_s = now - self.taken_at
        if asked and now + self.pace.delay_s > self.ready_at:
            self.ready_at = now + self.pace.delay_s
            self.wait_reason = ""

    def slow_down(self, pace: ServerPace, min_delay_s: float) -> None:
        """Keeps to the pace that a robots.txt asks for; the pause never gets shorter again
        than `min_delay_s`."""
        self.pace = pace
        self.min_delay_s = max(self.min_delay_s, min_delay_s)

    def wait_until(self, moment: float, reason: str = "") -> None:
        if moment > self.ready_at:
            self.ready_at = moment
            self.wait_reason = reason

    def drain(self) -> list[FetchItem]:
        """Takes out every item that still waits."""
        items = [*self.robots, *self.pages]
        self.robots.clear()
        self.pages.clear()
        return items


@dataclass(slots=True, eq=False)
class AddressGate:
    """One IP address: at most one request at a time, and a pause after each."""

    busy: bool = False
    ready_at: float = 0.0
    waiting: deque[HostQueue] = field(default_factory=deque)
    """Ready, but for the address."""
    called: HostQueue | None = None
    """The queue that may pass next: one at a time, however many hosts share the address."""
