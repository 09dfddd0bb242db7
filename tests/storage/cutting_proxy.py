"""A proxy of bytes before a name node, which cuts the line where a plan says so."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum


class Cut(Enum):
    """What the proxy does with a message of the client."""

    LOST_REQUEST = "the line is cut before it"
    LOST_ANSWER = "the line is cut after it: it is obeyed, and nobody learns"


Plan = Callable[[int], Cut | None]
"""By the number of the client's message since the plan was made."""


def faultless(number: int) -> Cut | None:
    return None


class CuttingProxy:
    """Listens on a port of its own."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.address = f"hdfs://127.0.0.1:{self.port}"
        self._plan: Plan = faultless
        self._guard = threading.Lock()
        self.messages = 0
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def follow(self, plan: Plan) -> None:
        with self._guard:
            self._plan, self.messages, self.cuts = plan, 0, 0

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._server), timeout=30)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for source, target, plan in ((client, server, self._next), (server, client, None)):
                threading.Thread(target=_copy, args=(source, target, plan), daemon=True).start()

    def _next(self) -> Cut | None:
        with self._guard:
            self.messages += 1
            cut = self._plan(self.messages)
            self.cuts += cut is not None
            return cut


def _copy(
    source: socket.socket, target: socket.socket, plan: Callable[[], Cut | None] | None
) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            cut = plan() if plan else None
            if cut is Cut.LOST_REQUEST:
                break
            if cut is Cut.LOST_ANSWER:
                # deaf from here on, but what was sent is received
                source.shutdown(socket.SHUT_RDWR)
                target.sendall(data)
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def running(port: int) -> Iterator[CuttingProxy]:
    """A proxy before the port, for the time of a block."""
    proxy = CuttingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
