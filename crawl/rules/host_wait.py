"""How long a host that failed is left alone: pure decisions, a round at a time.

A host that gave no page in a round is left out of the rounds after it, for twice as long
each time. One that answered some pages keeps the pause that it asked for, and no more. The
first page that it answers ends all of it, but that a host which was once given up before its
time was up may be slow is remembered until it is in other trouble.
"""

from __future__ import annotations

from dataclasses import replace

from crawl.model.hosts import UNANSWERED, HostState, HostTrouble

MIN_BASE_MS = 1000
"""However short a crawl's pauses are, a host in trouble costs fewer rounds each time."""


def after_segment(
    state: HostState, trouble: HostTrouble | None, answered_at: int, longest_ms: int
) -> HostState:
    """The host's state after a segment in which it was in trouble, or last answered a page
    at a moment (0: never), or both. Nothing waits for longer than `longest_ms`. What is older
    than the state changes nothing."""
    if trouble is None:
        if answered_at <= state.last:
            return state
        reason = UNANSWERED if state.reason == UNANSWERED else ""
        return replace(state, reason=reason, failures=0, wait_until=0, since=0, last=0, said="")
    if trouble.at < state.last:
        return state
    failures = 0 if answered_at else state.failures + 1
    base_ms = max(trouble.base_ms, MIN_BASE_MS)
    wait_ms = base_ms << min(failures - 1, 30) if failures else base_ms * trouble.gave_up
    until = max(trouble.until, trouble.at + wait_ms)
    return replace(
        state,
        reason=trouble.reason,
        failures=failures,
        wait_until=min(until, trouble.at + longest_ms),
        since=state.since if state.failures and failures > 1 else trouble.at,
        last=trouble.at,
        said=trouble.said,
    )


def waits_until(state: HostState, longest_ms: int) -> int:
    """Until when the host is left out, whatever was the longest wait when it was written."""
    return min(state.wait_until, state.last + longest_ms)
