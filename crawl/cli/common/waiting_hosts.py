"""The sentence about hosts that are left alone for now."""

from __future__ import annotations


def waiting_hosts_text(hosts: int, until: str) -> str:
    """How many hosts are in backoff, and until when the first of them is."""
    waiting = "1 host is" if hosts == 1 else f"{hosts:,} hosts are"
    return f"{waiting} in backoff, the first until {until}"


def waiting_hosts_note(hosts: int, next_ms: int | None) -> str:
    """The same as the rest of a line; empty where no host waits."""
    if not hosts or next_ms is None:
        return ""
    from crawl.readers.explain.selection import moment

    return f"; {waiting_hosts_text(hosts, moment(next_ms))}"
