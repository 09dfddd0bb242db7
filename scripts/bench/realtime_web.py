"""The web of the realtime benchmark: one process on loopback with as many hosts as are asked for,
that takes as long as the real one does, fails, and redirects.

    python realtime_web.py --log FILE [--port N] [--errors SHARE]

prints its port, and ends when its input does. The log is that of the synthetic web
(crawl/synthetic/web/log.py), a line for each request with its begin and its end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import BinaryIO, cast

from realtime_http import run_quickly
from realtime_plan import Kind, kind_of, latency_s, target_of

from crawl.synthetic.web.log import LINE

_WORDS = b"harbour lantern meadow copper violet engine saddle winter ribbon garden window letter "
_TEXT = b"<p>" + b"</p>\n<p>".join(_WORDS * 2 for _ in range(110))
_BODY_SIZE = 10_000
_RULES = b"User-agent: *\nDisallow: /private/\n"
_MOST_OF_A_HEAD = 32_768
_TICK_S = 0.005


class Web:
    """What all connections share."""

    def __init__(self, log: BinaryIO, errors: float) -> None:
        self.log = log
        self.errors = errors
        self.port = 0
        self.connections = 0
        self.attempts: Counter[tuple[str, str]] = Counter()
        self._ticks = (time.monotonic(),) * 2

    def tick(self) -> None:
        """Notes when the loop was at work."""
        self._ticks = (self._ticks[1], time.monotonic())
        asyncio.get_running_loop().call_later(_TICK_S, self.tick)

    @property
    def looked_at(self) -> float:
        """A moment by which everything had been seen that came before: the tick before the last,
        as that one may be of the very round in which something is seen that came long ago."""
        return self._ticks[0]

    def attempt(self, host: str, path: str) -> int:
        """How often it was asked for before."""
        before = self.attempts[host, path]
        self.attempts[host, path] += 1
        return before


class Connection(asyncio.Protocol):
    """Answers one request after the other."""

    def __init__(self, web: Web) -> None:
        self._web = web
        web.connections += 1
        self._number = web.connections
        self._head = b""
        self._later: asyncio.TimerHandle | None = None
        self._asked: tuple[float, str, str, str, str] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are of no class of asyncio
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        self._head += data
        if len(self._head) > _MOST_OF_A_HEAD:
            self._transport.abort()
        elif self._asked is None and b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            self._begin(head.decode("latin-1").split("\r\n"), now)

    def connection_lost(self, error: Exception | None) -> None:
        if self._later is not None:
            self._later.cancel()
        if self._asked is not None:
            # Whoever left did so before it is seen here; a web that lost the processor meanwhile
            # would accuse a polite client of coming back too soon.
            self._note(0, 0, max(self._asked[0], self._web.looked_at))

    def _begin(self, lines: list[str], now: float) -> None:
        method, _, target = lines[0].partition(" ")
        path = target.rpartition(" ")[0]
        headers = {name.lower(): value.strip() for name, _, value in _named(lines[1:])}
        host = headers.get("host", "").partition(":")[0]
        self._asked = (now, host, path, method, headers.get("user-agent", ""))
        attempt = self._web.attempt(host, path)
        kind = kind_of(host, path, attempt, self._web.errors)
        if kind is not Kind.SILENCE:
            loop = asyncio.get_running_loop()
            self._later = loop.call_later(latency_s(host, path, attempt), self._answer, kind)

    def _answer(self, kind: Kind) -> None:
        assert self._asked is not None
        self._later = None
        _, host, path, method, _ = self._asked
        if kind is Kind.RESET:
            self._note(0, 0)
            self._transport.abort()
            return
        status, extra, body = self._content(kind, host, path)
        head = f"HTTP/1.1 {status} Said\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
        self._note(status, len(body))
        self._transport.write(head.encode("latin-1") + (b"" if method == "HEAD" else body))
        if self._head:  # the next one is here already
            waiting, self._head = self._head, b""
            self.data_received(waiting)

    def _content(self, kind: Kind, host: str, path: str) -> tuple[int, str, bytes]:
        if kind is Kind.ROBOTS:
            return 200, "Content-Type: text/plain\r\n", _RULES
        if kind is Kind.UNAVAILABLE:
            return 503, "", b"busy"
        if kind is Kind.REDIRECT and (target := target_of(path)) is not None:
            status = 301 if len(path) % 2 else 302
            where = f"http://{target.host}:{self._web.port}{target.path}"
            return status, f"Location: {where}\r\n", b""
        return (
            200,
            "Content-Type: text/html; charset=utf-8\r\n",
            page(f"{host}:{self._web.port}", path),
        )

    def _note(self, status: int, sent: int, ended: float | None = None) -> None:
        assert self._asked is not None
        began, host, path, method, agent = self._asked
        self._asked = None
        names = (each.encode("latin-1", "replace") for each in (method, host, path, agent))
        ended = time.monotonic() if ended is None else ended
        self._web.log.write(LINE % (began, ended, self._number, status, sent, b"127.0.0.1", *names))


def _named(lines: list[str]) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in lines]


def page(host: str, path: str) -> bytes:
    """A page of about ten kilobytes that says what it is, as pages do that want to be shared."""
    title = f"Report {path.rpartition('/')[2]} of {host.partition(':')[0]}"
    head = (
        f'<!DOCTYPE html><html lang="en"><head><title>{title}</title>'
        f'<meta name="description" content="All about {title}.">'
        f'<meta property="og:title" content="{title}"><meta property="og:type" content="article">'
        f'<meta property="og:site_name" content="{host}">'
        f'<meta property="og:image" content="http://{host}/picture.jpg">'
        f'<link rel="canonical" href="http://{host}{path}">'
        f"</head><body><article><h1>{title}</h1>\n"
    ).encode()
    begin = sum(path.encode()) % 1000
    return head + _TEXT[begin : begin + _BODY_SIZE - len(head)] + b"</article></body></html>"


async def _serve(options: argparse.Namespace, log: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    web = Web(log, options.errors)
    ended = asyncio.Event()
    server = await loop.create_server(
        lambda: Connection(web), "127.0.0.1", options.port, backlog=4096
    )
    web.port = server.sockets[0].getsockname()[1]
    web.tick()
    print(web.port, flush=True)

    def wait() -> None:
        # not by sys.stdin, which a dying interpreter would want to lock
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="The web of the realtime benchmark.")
    parser.add_argument("--log", required=True, type=Path, help="where each request is noted")
    parser.add_argument("--port", type=int, default=0, help="0: one that is free")
    parser.add_argument("--errors", type=float, default=0.02, help="share of failures (0.02)")
    options = parser.parse_args()
    with options.log.open("wb", buffering=1 << 16) as log:
        run_quickly(_serve(options, log))


if __name__ == "__main__":
    sys.exit(main())
