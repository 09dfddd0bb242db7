"""One request to the wicked server, and the means to answer it badly."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from crawl.interfaces.protocol import FailureKind, Truncation

LINGER_NOT = struct.pack("ii", 1, 0)
FINE = b"<!DOCTYPE html>\n<html><head><title>Fine</title></head><body>Fine</body></html>\n"
_BLOCK = 65_536


@dataclass(slots=True)
class Exchange:
    """A request and the connection that waits for its answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    method: str
    target: str
    """Path and query."""
    host: str
    port: int
    agent: str = ""
    closing: bool = False
    """The client asked for the connection to be closed; only honest answers heed it."""
    status: int = 0
    """What was answered; 0 for nothing that has a code."""
    sent: int = 0
    """Bytes, headers and all."""
    sending: float = 0.0
    """When the last bytes were handed over; see the log of the synthetic web."""
    keep: bool = False
    """Whether the connection serves another request afterwards."""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    def number(self, name: str, default: float) -> float:
        """A number of the query: `?seconds=0.01`."""
        values = parse_qs(urlsplit(self.target).query).get(name, [])
        try:
            return float(values[0])
        except (IndexError, ValueError):
            return default

    async def send(self, data: bytes) -> None:
        """Sends; waits while the client does not read."""
        self.sending = time.monotonic()
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)

    async def head(self, code: int, *lines: str) -> None:
        """Status line, the headers and the empty line."""
        self.status = code
        text = "\r\n".join([f"HTTP/1.1 {code} Wicked", "Content-Type: text/html", *lines])
        await self.send(text.encode("latin-1") + b"\r\n\r\n")

    async def page(self, body: bytes, *lines: str, code: int = 200, keep: bool = False) -> None:
        """An honest answer."""
        self.keep = keep and not self.closing
        connection = "keep-alive" if self.keep else "close"
        length = f"Content-Length: {len(body)}"
        await self.head(code, f"Connection: {connection}", length, *lines)
        if self.method != "HEAD":
            await self.send(body)

    async def trickle(self, data: bytes, default_pause: float) -> None:
        """A byte at a time; `?seconds=` is the pause."""
        pause = self.number("seconds", default_pause)
        for place in range(len(data)):
            await self.send(data[place : place + 1])
            await self.wait(pause)

    async def repeat(self, data: bytes) -> None:
        """For ever."""
        block = data * max(1, _BLOCK // len(data))
        while True:
            await self.send(block)

    async def wait(self, seconds: float) -> None:
        """Does nothing for that long; ends early when the client leaves."""
        try:
            async with asyncio.timeout(seconds):
                while await self.reader.read(_BLOCK):
                    pass
        except TimeoutError:
            return
        raise ConnectionResetError("the client left")

    async def reset(self) -> None:
        """Ends the connection by a reset, once what was sent has had time to arrive."""
        await asyncio.sleep(0.05)
        abort(self.writer)


def abort(writer: asyncio.StreamWriter) -> None:
    """Resets a connection."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
    writer.transport.abort()


RouteHandler = Callable[[Exchange], Awaitable[None]]


def says(data: bytes, status: int = 0) -> RouteHandler:
    """Sends these bytes and nothing else; `status` is the code that they bear."""

    async def serve(exchange: Exchange) -> None:
        exchange.status = status
        await exchange.send(data)

    return serve


def answers(body: bytes, *lines: str, code: int = 200, keep: bool = False) -> RouteHandler:
    """Sends a head with these lines and then these bytes, whether they belong together or not."""

    async def serve(exchange: Exchange) -> None:
        exchange.keep = keep
        await exchange.head(code, *lines)
        await exchange.send(body)

    return serve


def page(body: bytes, *lines: str, code: int = 200, keep: bool = False) -> RouteHandler:
    """Sends an honest answer, but for these lines."""
    return lambda exchange: exchange.page(body, *lines, code=code, keep=keep)


def redirects(location: Callable[[Exchange], str]) -> RouteHandler:
    """Sends an honest redirect, to where the function says."""
    return lambda exchange: exchange.page(b"", f"Location: {location(exchange)}", code=302)


FetchEnd = FailureKind | Truncation | int
"""How a fetch may end: without a response, with a cut body, or with a response of that code."""


@dataclass(frozen=True, slots=True)
class Route:
    """One wickedness."""

    path: str
    """What is at it and below it."""
    does: str
    must: str
    """What a fetcher has to do."""
    ends: tuple[FetchEnd, ...]
    """A fetch of it may end in each of these ways, and in no other."""
    serve: RouteHandler

    @property
    def name(self) -> str:
        """Its path as a label of a host name: `drip-body`."""
        return self.path.strip("/").replace("/", "-")
