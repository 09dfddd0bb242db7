"""Pauses that servers asked for, or earned by failing, as one task tells the next of them: a
death must not shorten them."""

from __future__ import annotations

import json

from crawl.fetcher.frontier.queues import HostQueues, ServerState

PauseRow = list[tuple[str, float, int]]
"""A server's key, the seconds until it may be asked, and its failures in a row."""
_MOST = 10_000
"""Servers that are told of: some hundred bytes each."""


def current_pauses(queues: HostQueues, now: float, usual_s: float) -> PauseRow:
    """Who must be left alone: who failed, and whoever asked for more than is usual."""
    found = [
        (left.key, round(left.pause_s, 3), left.exceptions)
        for left in queues.server_states(now)
        if left.pause_s > (0.0 if left.exceptions else usual_s)
    ]
    return sorted(found, key=lambda each: -each[1])[:_MOST]


def read_pauses(raw: bytes | None, now_ms: int) -> list[ServerState]:
    """Of what a task told at some moment, those that are not over; none where it is torn."""
    try:
        told = json.loads(raw) if raw else {}
        passed_s = max(0.0, (now_ms - int(told["told_ms"])) / 1000)
        return [
            ServerState(str(key), float(pause_s) - passed_s, int(exceptions), "")
            for key, pause_s, exceptions in told["paused"]
            if float(pause_s) > passed_s
        ]
    except (ValueError, TypeError, KeyError):
        return []
