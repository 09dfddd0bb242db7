"""What is known of a server that other engines asked before."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server's pause and failures, in the engine's own time."""

    ready_at: float
    """Monotonic: no request may start before; it may be over."""
    exceptions: int = 0
    crawl_delay_s: float = 0.0
    """That its robots.txt asked for; 0 for none."""
    wait_reason: str = ""
