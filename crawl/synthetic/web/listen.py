"""Listening on one port of several loopback addresses."""

from __future__ import annotations

import socket

from crawl.errors import UsageError


def listen(addresses: list[str], port: int) -> list[socket.socket]:
    """Listens on one port of several loopback addresses; port 0 is one that is free on all."""
    for _ in range(50):
        listeners: list[socket.socket] = []
        bound_port = port
        try:
            for address in addresses:
                listener = socket.socket()
                listeners.append(listener)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((address, bound_port))
                bound_port = listener.getsockname()[1]
                listener.listen(4096)
                listener.setblocking(False)
        except OSError as error:
            for listener in listeners:
                listener.close()
            if port:
                raise UsageError(f"cannot listen on port {port}: {error.strerror}") from error
            continue
        return listeners
    raise UsageError(f"found no port that is free on all of {', '.join(addresses)}")
