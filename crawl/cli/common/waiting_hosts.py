"""The sentence about hosts that are left alone for now."""

from __future__ import annotations


def waiting_hosts_text(hosts: int, until: str) -> str:
    """How many hosts wait, and until when the first of them does."""
    waiting = "1 host waits" if hosts == 1 else f"{hosts:,} hosts wait"
    return f"{waiting}, the next until {until}"


def waiting_hosts_note(hosts: int, next_ms: int | None) -> str:
    """The same as the rest of a line; empty where no host waits."""
    if not hosts or next_ms is None:
        return ""
    from crawl.buckets.generate.why import moment

    return f"; {waiting_hosts_text(hosts, moment(next_ms))}"
