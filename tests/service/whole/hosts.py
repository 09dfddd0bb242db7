"""Hosts on loopback, each at an address of its own, that log what they are asked.

/p/NAME       a page with links to /p/NAME.0 and /p/NAME.1
/r/N/NAME     a redirect to /p/NAME of the N-th host
/gone/NAME    404
/later/NAME   503 with Retry-After at first, then a page
/long/NAME    the same, for an hour
/slow/NAME    a page, when `may_go_on` is set
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from time import monotonic
from typing import Any

PAGE = """<!doctype html><html lang="en"><head><title>Page {name}</title></head>
<body><h1>{name}</h1>
<p>Some words of the page {name}, enough of them to be taken for a text by whoever reads it.</p>
<p><a href="/p/{name}.0">one</a> <a href="/p/{name}.1">another</a></p></body></html>"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, with the moments when it began and when its answer was ready to be sent."""

    host: str
    path: str
    began: float
    ended: float


class Hosts:
    """What they were asked, and how they answer."""

    def __init__(self) -> None:
        self.origins: list[str] = []
        self.robots = "User-agent: *\nDisallow: /no\n"
        self.robots_of: dict[str, str] = {}
        """Of hosts that have one of their own."""
        self.retry_after_s = 1
        self.may_go_on = threading.Event()
        self.slow_count = 0
        """Requests for slow pages that have come."""
        self._asked: list[Asked] = []
        self._met: Counter[tuple[str, str]] = Counter()
        self._changed = threading.Condition()

    def url(self, number: int, path: str) -> str:
        return self.origins[number % len(self.origins)] + path

    def asked(self) -> list[Asked]:
        with self._changed:
            return list(self._asked)

    def pages(self) -> list[Asked]:
        """What was asked but robots.txt."""
        return [each for each in self.asked() if each.path != "/robots.txt"]

    def wait_for_pages(self, count: int, host: str = "") -> None:
        """Until so many were asked for; of one host, if it is named."""

        def is_enough() -> bool:
            pages = [each for each in self._asked if each.path != "/robots.txt"]
            return sum(each.host == host or not host for each in pages) >= count

        with self._changed:
            assert self._changed.wait_for(is_enough, 240), f"{len(self._asked)} requests came"

    def wait_for_slow(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.slow_count >= count, 240)

    def shortest_pause(self) -> float:
        """Between the end of an answer and the next request to the same host, redirects, failures
        and robots.txt included; negative where two overlapped."""
        by_host: dict[str, list[Asked]] = defaultdict(list)
        for each in sorted(self.asked(), key=lambda each: each.began):
            by_host[each.host].append(each)
        return min(
            (
                after.began - before.ended
                for asked in by_host.values()
                for before, after in pairwise(asked)
            ),
            default=float("inf"),
        )

    def answer(self, host: str, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        _, kind, *names = path.split("/")
        name = "/".join(names)
        html = {"Content-Type": "text/html; charset=utf-8"}
        if path == "/robots.txt":
            return (
                200,
                {"Content-Type": "text/plain"},
                self.robots_of.get(host, self.robots).encode(),
            )
        if kind == "r":
            target = self.url(int(names[0]), f"/p/{names[1]}")
            return 302, {"Location": target}, b""
        if kind in ("later", "long"):
            with self._changed:
                self._met[host, path] += 1
                is_first = self._met[host, path] == 1
            if is_first or kind == "long":
                pause_s = self.retry_after_s if kind == "later" else 3600
                return 503, {"Retry-After": str(pause_s)}, b"later"
        if kind == "slow":
            with self._changed:
                self.slow_count += 1
                self._changed.notify_all()
            self.may_go_on.wait(60)
        if kind == "gone":
            return 404, html, b"gone"
        return 200, html, PAGE.format(name=name).encode()

    def note(self, asked: Asked) -> None:
        with self._changed:
            self._asked.append(asked)
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    server_name = ""
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked is gone: it was killed."""


@contextmanager
def hosts(count: int) -> Iterator[Hosts]:
    """So many hosts, at 127.0.0.2 and following."""
    web = Hosts()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            began = monotonic()
            assert isinstance(self.server, _Server)
            host = self.server.server_name
            status, headers, body = web.answer(host, self.path)
            # before it is sent: whoever reads it must not ask again before we have noted it
            web.note(Asked(host, self.path, began, monotonic()))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    servers = [_Server((f"127.0.0.{2 + number}", 0), Handler) for number in range(count)]
    for number, server in enumerate(servers):
        server.server_name = f"127.0.0.{2 + number}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        web.origins.append(f"http://{server.server_name}:{server.server_port}")
    try:
        yield web
    finally:
        web.may_go_on.set()
        for server in servers:
            server.shutdown()
            server.server_close()
