"""As much of HTTP/1.1 as a load generator needs: requests on connections that stay, and one answer
that goes on. A general client would spend more of the processor than what it measures."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

Result = TypeVar("Result")

_MOST_BYTES = 64 << 20


class Broken(Exception):
    """The connection ended before the answer did, or what came is no HTTP."""


class AnswerParser:
    """Takes an answer apart: its head, and its body by length, by chunks, or to the end."""

    def __init__(self, on_body: Callable[[bytes], None]) -> None:
        self._on_body = on_body
        self._waiting = b""
        self._left = 0
        """Bytes of the body that are to come, or of the chunk with the line end behind it."""
        self._is_chunked = self._is_in_body = self._is_to_the_end = False
        self._is_in_trailers = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_complete = False

    def feed(self, data: bytes) -> None:
        """Takes what came."""
        self._waiting += data
        if not self._is_in_body and not self._read_head():
            return
        while self._waiting and not self.is_complete:
            if not (self._read_chunk() if self._is_chunked else self._read_plain()):
                return

    def _read_head(self) -> bool:
        head, end, rest = self._waiting.partition(b"\r\n\r\n")
        if not end:
            if len(head) > 65_536:
                raise Broken("a head without an end")
            return False
        lines = head.decode("latin-1").split("\r\n")
        try:
            self.status = int(lines[0].split(" ")[1])
            named = (line.partition(":") for line in lines[1:])
            self.headers = {name.lower(): value.strip() for name, _, value in named}
            self._left = int(self.headers.get("content-length", "0"))
        except (ValueError, IndexError) as error:
            raise Broken("no answer of HTTP") from error
        self._is_chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        if self._left > _MOST_BYTES:
            raise Broken("an answer that is too long")
        self._waiting, self._is_in_body = rest, True
        has_length = "content-length" in self.headers or self.status in (204, 304)
        self._is_to_the_end = not self._is_chunked and not has_length
        self.is_complete = not self._is_chunked and has_length and not self._left
        return True

    def _read_plain(self) -> bool:
        if self._is_to_the_end:
            body, self._waiting = self._waiting, b""
            self._on_body(body)
            return True
        body, self._waiting = self._waiting[: self._left], self._waiting[self._left :]
        self._left -= len(body)
        self._on_body(body)
        self.is_complete = not self._left
        return True

    def _read_chunk(self) -> bool:
        """Whether there may be more to read."""
        if self._is_in_trailers:
            return self._read_trailer()
        if self._left == 0:
            line, end, rest = self._waiting.partition(b"\r\n")
            if not end:
                return False
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError as error:
                raise Broken("no chunk") from error
            if not 0 <= size <= _MOST_BYTES:
                raise Broken("no chunk")
            if not size:
                self._waiting, self._is_in_trailers = rest, True
                return self._read_trailer()
            self._waiting, self._left = rest, size + 2
            return True
        part = self._waiting[: self._left]
        self._waiting = self._waiting[len(part) :]
        # its line end may have come in part
        body = part[: max(0, self._left - 2)]
        self._left -= len(part)
        if body:
            self._on_body(body)
        return True

    def _read_trailer(self) -> bool:
        """Lines after the last chunk, to an empty one."""
        line, end, rest = self._waiting.partition(b"\r\n")
        if end:
            self._waiting = rest
            self.is_complete = not line
        return bool(end)


class Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._parser: AnswerParser | None = None
        self._body: list[bytes] = []
        self._answer: asyncio.Future[tuple[int, dict[str, str], bytes]] | None = None
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are of no class of asyncio
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._answer is None or self._answer.done():
            self._transport.abort()
            return
        try:
            self._parser.feed(data)
        except Broken as error:
            self._answer.set_exception(error)
            self._transport.abort()
            return
        if self._parser.is_complete:
            parser, self._parser = self._parser, None
            if parser.headers.get("connection", "").lower() == "close":
                self.is_open = False
            self._answer.set_result((parser.status, parser.headers, b"".join(self._body)))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Broken("the connection ended"))

    def close(self) -> None:
        self.is_open = False
        self._transport.abort()

    async def send(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; Broken where there are none."""
        self._body = []
        self._parser = AnswerParser(self._body.append)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer


class Connections:
    """To one server, as many as are needed at once."""

    def __init__(self, host: str, port: int, key: str | None = None) -> None:
        self._address = (host, port)
        self._idle: deque[Connection] = deque()
        authorization = f"Authorization: Bearer {key}\r\n" if key else ""
        self._common = f"Host: {host}:{port}\r\n{authorization}"

    async def post(
        self, path: str, body: bytes, seconds: float
    ) -> tuple[int, dict[str, str], bytes]:
        head = (
            f"POST {path} HTTP/1.1\r\n{self._common}Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return await self._send(head.encode() + body, seconds)

    async def get(self, path: str, seconds: float) -> tuple[int, dict[str, str], bytes]:
        return await self._send(f"GET {path} HTTP/1.1\r\n{self._common}\r\n".encode(), seconds)

    async def follow(
        self, path: str, last_id: str, on_body: Callable[[bytes], None], on_head: Callable[[], None]
    ) -> None:
        """Reads an answer that goes on, until it ends; Broken for any but 200."""
        reader, writer = await asyncio.open_connection(*self._address, limit=1 << 20)
        resume = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        accept = "Accept: text/event-stream\r\n"
        writer.write(f"GET {path} HTTP/1.1\r\n{self._common}{accept}{resume}\r\n".encode())
        parser, told = AnswerParser(on_body), False
        # without a length it lasts as long as the connection
        try:
            while data := await reader.read(1 << 18):
                parser.feed(data)
                if parser.status and parser.status != 200:
                    raise Broken(f"{path} answered with {parser.status}")
                if parser.status and not told:
                    told = True
                    on_head()
                if parser.is_complete:
                    return
        finally:
            writer.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _send(self, request: bytes, seconds: float) -> tuple[int, dict[str, str], bytes]:
        connection = None
        while self._idle and connection is None:
            connection = self._idle.pop()
            if not connection.is_open:
                connection = None
        try:
            async with asyncio.timeout(seconds):
                if connection is None:
                    loop = asyncio.get_running_loop()
                    _, connection = await loop.create_connection(Connection, *self._address)
                answer = await connection.send(request)
        except (TimeoutError, OSError) as error:
            if connection is not None:
                connection.close()
            raise Broken(str(error) or "no answer in time") from error
        if connection.is_open:
            self._idle.append(connection)
        return answer


def run_quickly(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine on uvloop, where that is installed."""
    try:
        from uvloop import run
    except ImportError:
        from asyncio import run
    return run(work)
