"""A server of a few threads that answers with the very bytes a test gives it, and keeps
the requests it received, byte by byte."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

Answer = bytes | Callable[[socket.socket], None]
"""Bytes to send, or what to do with the connection; an empty answer closes it."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came."""

    raw: bytes
    connection: int
    """Which of the connections it came by, from 1."""

    @property
    def target(self) -> str:
        return self.raw.split(b" ", 2)[1].decode("latin-1")

    def header(self, name: str) -> str:
        """The header, or an empty text."""
        for line in self.raw.decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return ""


class ScriptedServer:
    """Answers by path; what has none gets a 404."""

    def __init__(self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family, backlog=64)
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._connections = 0
        self.port: int = self._listener.getsockname()[1]
        self.answers: dict[str, Answer] = {}
        self.requests: list[ReceivedRequest] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path: str = "/", host: str = "a.test") -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{host}:{self.port}{path}"

    def page(self, path: str, body: bytes = b"Fine", *headers: str, code: int = 200) -> None:
        """Serves a complete response at the path."""
        self.answers[path] = honest(body, *headers, code=code)

    def stop(self) -> None:
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections += 1
                arguments = (connection, self._connections)
                threading.Thread(target=self._serve, args=arguments, daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with suppress(OSError), connection:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._open.add(connection)
            waiting = b""
            while True:
                while b"\r\n\r\n" not in waiting:
                    data = connection.recv(65536)
                    if not data:
                        return
                    waiting += data
                end = waiting.index(b"\r\n\r\n") + 4
                request, waiting = ReceivedRequest(waiting[:end], number), waiting[end:]
                self.requests.append(request)
                answer = self.answers.get(request.target, honest(b"Nothing here", code=404))
                if callable(answer):
                    answer(connection)
                    return
                if not answer:
                    return
                connection.sendall(answer)


def honest(body: bytes, *headers: str, code: int = 200) -> bytes:
    """A whole answer, with its length."""
    lines = [f"HTTP/1.1 {code} Said", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


@contextmanager
def scripted_server(
    address: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[ScriptedServer]:
    server = ScriptedServer(address, tls)
    try:
        yield server
    finally:
        server.stop()
