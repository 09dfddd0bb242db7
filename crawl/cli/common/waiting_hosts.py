"""The sentence about hosts that are left alone for now."""

from __future__ import annotations

from crawl.operations.shown import waiting_hosts_text


def waiting_hosts_note(hosts: int, next_ms: int | None) -> str:
    """The same as the rest of a line; empty where no host waits."""
    if not hosts or next_ms is None:
        return ""
    from crawl.readers.explain.selection import moment

    return f"; {waiting_hosts_text(hosts, moment(next_ms))}"
