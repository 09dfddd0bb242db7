"""Pauses that servers asked for, or earned by failing, as a task stores them for the next one:
its death must not shorten them."""

from __future__ import annotations

import json

from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queues import HostQueues

Pauses = list[tuple[str, float, int]]
"""Rows of a server's key, the seconds until it may be asked, and its failures in a row."""
_MAX_SERVERS = 10_000
"""Some hundred bytes each."""


def current_pauses(queues: HostQueues, now: float, usual_s: float) -> Pauses:
    """The servers that must be left alone: those that failed or asked for more than is usual."""
    pauses = [
        (server.key, round(server.pause_s, 3), server.exceptions)
        for server in queues.server_states(now)
        if server.pause_s > (0.0 if server.exceptions else usual_s)
    ]
    return sorted(pauses, key=lambda each: -each[1])[:_MAX_SERVERS]


def read_pauses(raw: bytes | None, now_ms: int) -> list[ServerState]:
    """The pauses of a progress file that are not over; none where the file is torn."""
    try:
        progress = json.loads(raw) if raw else {}
        passed_s = max(0.0, (now_ms - int(progress["told_ms"])) / 1000)
        return [
            ServerState(str(key), float(pause_s) - passed_s, int(exceptions))
            for key, pause_s, exceptions in progress["paused"]
            if float(pause_s) > passed_s
        ]
    except (ValueError, TypeError, KeyError):
        return []
