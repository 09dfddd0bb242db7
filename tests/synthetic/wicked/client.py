"""A client that believes nothing: a raw socket that waits long for what is to come, and not for
what comes after it: how fast a busy machine is makes no difference."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum
from time import monotonic

from crawl.synthetic.wicked import WickedServer

PATIENCE_S = 60.0
"""For what is to come."""
SILENCE_S = 0.4
"""What is taken for the end once all has come."""


class How(Enum):
    """How a conversation ended."""

    CLOSED = "closed"
    RESET = "reset"
    SILENT = "silent"
    """Nothing more came after that."""
    ENOUGH = "enough"
    """We had as much as we wanted."""


@dataclass(frozen=True, slots=True)
class Got:
    data: bytes
    how: How

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    def header(self, name: str) -> bytes:
        (line,) = [one for one in self.head.split(b"\r\n") if one.startswith(name.encode() + b": ")]
        return line.partition(b": ")[2]


def ask(
    server: WickedServer,
    url: str,
    *,
    at_most: int = 12_000_000,
    silent_after: bytes | None = None,
) -> Got:
    """Sends one request and reads what comes, to its end or to the silence after these bytes."""
    authority, _, path = url.removeprefix("http://").partition("/")
    address = server.resolve(authority.partition(":")[0])
    data = bytearray()
    end = monotonic() + PATIENCE_S
    with socket.create_connection((address, server.port), timeout=PATIENCE_S) as client:
        head = f"GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        while len(data) < at_most and monotonic() < end:
            has_all = silent_after is not None and data.endswith(silent_after)
            client.settimeout(SILENCE_S if has_all else PATIENCE_S)
            try:
                more = client.recv(1 << 17)
            except ConnectionResetError:
                return Got(bytes(data), How.RESET)
            except TimeoutError:
                return Got(bytes(data), How.SILENT)
            if not more:
                return Got(bytes(data), How.CLOSED)
            data += more
    return Got(bytes(data), How.ENOUGH)
