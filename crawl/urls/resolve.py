"""A host's address by the machine's own resolver: the only place that asks DNS."""

from __future__ import annotations

import socket


def system_resolver(host: str) -> str | None:
    """The first address of the host, or None where it has none."""
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return str(addresses[0][4][0]) if addresses else None
