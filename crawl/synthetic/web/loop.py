"""Serves a synthetic web on one core: one epoll loop, no threads, no copies of bodies.

Hand-written, because the server must be far faster than the crawlers measured against it,
and must know the moments at which a request came and its answer went.
"""

from __future__ import annotations

import contextlib
import heapq
import select
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from crawl.errors import UsageError
from crawl.synthetic.web.log import LINE
from crawl.synthetic.web.page import origin
from crawl.synthetic.web.reply import PreparedReply
from crawl.synthetic.web.web import Web

_CACHED = 20_000
_LONGEST_REQUEST = 65_536
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_NO_SUCH_HOST = b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n"
_NO_SUCH_METHOD = (
    b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    number: int
    ip: bytes
    buffer: bytes = b""
    began: float = 0.0
    received: float = 0.0
    waits: bool = False
    """An answer is due or only partly sent; what comes meanwhile stays in the buffer."""
    rest: memoryview = field(default_factory=lambda: memoryview(b""))
    status: int = 0
    sent: int = 0
    names: tuple[bytes, bytes, bytes, bytes] = (b"", b"", b"", b"")
    """Method, host, path and agent of the request under way."""
    last: bool = False
    """Close after the answer."""


class WebLoop:
    """The server of one web."""

    def __init__(
        self, web: Web, listeners: list[socket.socket], log: BinaryIO, now: Callable[[], float]
    ) -> None:
        self._web = web
        self._now = now
        self._log = log
        self._time = 0.0
        self._replies: dict[tuple[bytes, bytes], PreparedReply | None] = {}
        self._connections: dict[int, _Connection] = {}
        self._due: list[tuple[float, int, _Connection, list[bytes | memoryview]]] = []
        self._accepted = 0
        self._epoll = select.epoll()
        self._listeners = {listener.fileno(): listener for listener in listeners}
        for number in self._listeners:
            self._epoll.register(number, select.EPOLLIN)
        self._watched: dict[int, Callable[[], None]] = {}
        self._stopped = False

    def watch(self, number: int, ready: Callable[[], None]) -> None:
        """Calls back when that file can be read."""
        self._watched[number] = ready
        self._epoll.register(number, select.EPOLLIN)

    def set_time(self, seconds: float) -> None:
        """Sets the web's own time."""
        self._time = seconds
        self._replies.clear()

    def warm(self) -> int:
        """Computes the answers of as many pages as are kept, so that serving is all it does."""
        for url in islice(self._web.urls(), _CACHED):
            _, _, authority, path = url.split("/", 3)
            self._reply(authority.partition(":")[0].encode(), f"/{path}".encode())
        return len(self._replies)

    def stop(self) -> None:
        """Ends `run` after the events at hand."""
        self._stopped = True

    def run(self) -> None:
        """Serves until stopped."""
        while not self._stopped:
            wait = max(0.0, self._due[0][0] - self._now()) if self._due else -1
            for number, event in self._epoll.poll(wait):
                connection = self._connections.get(number)
                if connection is not None:
                    if event & select.EPOLLOUT:
                        self._send_rest(connection)
                    elif event:
                        self._receive(connection)
                elif number in self._listeners:
                    self._accept(self._listeners[number])
                elif number in self._watched:
                    self._watched[number]()
            while self._due and self._due[0][0] <= self._now():
                _, _, connection, parts = heapq.heappop(self._due)
                if connection.socket.fileno() >= 0:
                    connection.waits = False
                    self._send(connection, parts)
                    self._answer(connection)
        for connection in list(self._connections.values()):
            self._close(connection)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(64):
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._accepted += 1
            ip = accepted.getsockname()[0].encode()
            self._connections[accepted.fileno()] = _Connection(accepted, self._accepted, ip)
            self._epoll.register(accepted.fileno(), select.EPOLLIN)

    def _receive(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(_LONGEST_REQUEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            if connection.waits:
                self._record(connection, self._now(), whole=False)
            self._close(connection)
            return
        connection.received = self._now()
        if connection.buffer:
            connection.buffer += data
        else:
            connection.buffer = data
            connection.began = connection.received
        if not connection.waits:
            self._answer(connection)

    def _answer(self, connection: _Connection) -> None:
        """Answers the requests in the buffer, in order, until one has to wait."""
        while connection.buffer and not connection.waits:
            head, blank_line, connection.buffer = connection.buffer.partition(b"\r\n\r\n")
            if not blank_line:
                connection.buffer = head
                if len(head) >= _LONGEST_REQUEST:
                    self._close(connection)
                return
            parts, latency = self._parts(connection, head)
            if latency > 0:
                connection.waits = True
                due = self._now() + latency
                heapq.heappush(self._due, (due, connection.number, connection, parts))
                return
            self._send(connection, parts)

    def _parts(
        self, connection: _Connection, head: bytes
    ) -> tuple[list[bytes | memoryview], float]:
        """The answer to a request, and how long it has to wait."""
        line, _, _ = head.partition(b"\r\n")
        words = line.split(b" ")
        headers = head.lower()
        connection.last = b"\r\nconnection: close" in headers or not line.endswith(b"HTTP/1.1")
        if len(words) != 3:
            connection.names, connection.last = (b"?", b"", b"", b""), True
            connection.status, connection.sent = 400, 0
            return [_BAD_REQUEST], 0.0
        method, path, _ = words
        host = _header(head, headers, b"\r\nhost:").lower().partition(b":")[0]
        agent = _header(head, headers, b"\r\nuser-agent:").replace(b"\t", b" ")
        connection.names = (method, host.replace(b"\t", b" "), path.replace(b"\t", b" "), agent)
        connection.sent = 0
        if method not in (b"GET", b"HEAD"):
            connection.status, connection.last = 405, True
            return [_NO_SUCH_METHOD], 0.0
        reply = self._reply(host, path)
        if reply is None:
            connection.status = 421
            return [_NO_SUCH_HOST], 0.0
        if not reply.plain:
            reply = reply.suited(head)
        connection.status = reply.status
        if method == b"HEAD":
            return [reply.head], reply.latency
        connection.sent = reply.length
        return [reply.head, *reply.parts], reply.latency

    def _reply(self, host: bytes, path: bytes) -> PreparedReply | None:
        key = (host, path)
        if key in self._replies:
            return self._replies[key]
        reply = None
        site = self._web.plan.site(host.decode("latin-1"))
        if site is not None and path.startswith(b"/"):
            # without a fragment, which is never sent, nor anything that would end the path
            target = path.decode("latin-1").replace("#", "%23")
            with contextlib.suppress(UsageError, ValueError):
                url = origin(self._web.plan, site) + target
                reply = PreparedReply(self._web.expected(url, self._time))
        if len(self._replies) >= _CACHED:
            self._replies.pop(next(iter(self._replies)))
        self._replies[key] = reply
        return reply

    def _send(self, connection: _Connection, parts: list[bytes | memoryview]) -> None:
        moment = self._now()
        try:
            sent = connection.socket.sendmsg(parts)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._record(connection, moment, whole=False)
            self._close(connection)
            return
        if sent == sum(map(len, parts)):
            self._ended(connection, moment)
            return
        connection.rest = memoryview(b"".join(parts))[sent:]
        connection.waits = True
        self._epoll.modify(connection.socket.fileno(), select.EPOLLOUT)

    def _send_rest(self, connection: _Connection) -> None:
        moment = self._now()
        try:
            connection.rest = connection.rest[connection.socket.send(connection.rest) :]
        except BlockingIOError:
            return
        except OSError:
            self._record(connection, moment, whole=False)
            self._close(connection)
            return
        if not connection.rest:
            connection.waits = False
            self._epoll.modify(connection.socket.fileno(), select.EPOLLIN)
            self._ended(connection, moment)
            self._answer(connection)

    def _ended(self, connection: _Connection, moment: float) -> None:
        self._record(connection, moment, whole=True)
        connection.began = connection.received
        if connection.last:
            self._close(connection)

    def _record(self, connection: _Connection, moment: float, *, whole: bool) -> None:
        method, host, path, agent = connection.names
        status = connection.status if whole else 0
        self._log.write(
            LINE
            % (
                *(connection.began, moment, connection.number, status, connection.sent),
                *(connection.ip, method, host, path, agent),
            )
        )

    def _close(self, connection: _Connection) -> None:
        connection.buffer = b""
        number = connection.socket.fileno()
        if number in self._connections:
            del self._connections[number]
            self._epoll.unregister(number)
        connection.socket.close()


def _header(head: bytes, lowered: bytes, name: bytes) -> bytes:
    start = lowered.find(name)
    if start < 0:
        return b""
    start += len(name)
    end = head.find(b"\r\n", start)
    return head[start : len(head) if end < 0 else end].strip()
