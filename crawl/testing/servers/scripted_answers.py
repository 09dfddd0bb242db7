"""What a scripted server may do with a connection instead of sending an honest answer."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

_ENOUGH_S = 20.0
"""How long a connection is left open at most."""


def then_close(data: bytes) -> Callable[[socket.socket], None]:
    """Sends the bytes and closes the connection."""
    return lambda connection: connection.sendall(data)


def then_reset(data: bytes) -> Callable[[socket.socket], None]:
    """Sends the bytes and resets the connection."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        time.sleep(0.1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return serve


def then_wait(data: bytes) -> Callable[[socket.socket], None]:
    """Sends the bytes and leaves the connection open."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.settimeout(_ENOUGH_S)
        connection.recv(1)

    return serve


def then_repeat(data: bytes, again: bytes) -> Callable[[socket.socket], None]:
    """Sends the bytes, and then others again and again."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        while True:
            connection.sendall(again)

    return serve


def drip(data: bytes, drop: bytes) -> Callable[[socket.socket], None]:
    """Sends the bytes, and then a few others five times a second."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        for _ in range(100):
            connection.sendall(drop)
            time.sleep(0.2)

    return serve
