"""What the queues of all servers tell others: when to come again, how long they will take, and
what the next engine has to know of a server."""

from __future__ import annotations

from dataclasses import dataclass

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
    exceptions: int
    closed_reason: str
    counts_s: float = 0.0
    """How long another failure would be one more in a row."""
    min_delay_s: float = 0.0
    """The pause that its robots.txt asks for; 0 where it asks for none."""
    wait_reason: str = ""
    """Why it waits; empty for the usual pause."""


@dataclass(frozen=True, slots=True)
class LongWait:
    """A server that cannot be asked for a while."""

    host: str
    reason: str
    until: float


@dataclass(frozen=True, slots=True)
class QueueStats:
    """How many queues are ready or wait at a moment, and how long they will take."""

    ready: int
    """Queues that could be asked."""
    waiting: int
    """Queues whose pause is not over, that are being asked, or whose rules are."""
    serial_s: float
    """How long the longest one takes at the least, by its pauses alone."""
    awaiting_robots: int = 0
    """Of those that wait: for a robots.txt."""
    backed_off: int = 0
    """Of those that wait: because their server failed, or asked for it."""
    waits: tuple[LongWait, ...] = ()
    """The first of the queues that wait for long."""
