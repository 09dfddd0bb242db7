"""A port for a server that must be given one before it starts, or that starts again."""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"
# The system gives ports from 32768 on to connections, and to any program that asks: one of those
# may be gone before our server has it, or while it is down.
_OURS = range(15_000, 32_000)


def free_port() -> int:
    """A port on which nothing listens, and which the system gives to no other program."""
    for port in random.Random().sample(_OURS, len(_OURS)):
        with socket.socket() as asked:
            try:
                asked.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise AssertionError("every port is taken")
