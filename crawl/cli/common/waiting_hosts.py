"""What commands say of hosts that are left alone for now."""

from __future__ import annotations

from crawl.buckets.generate.why import moment


def hosts_wait(hosts: int, next_ms: int | None) -> str:
    """The rest of a line; empty where no host waits."""
    if not hosts or next_ms is None:
        return ""
    who = "1 host waits" if hosts == 1 else f"{hosts:,} hosts wait"
    return f"; {who}, the next until {moment(next_ms)}"
