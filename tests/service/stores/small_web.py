"""A web on loopback that answers at once, for services that are to be tested for something else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.free_port import LOOPBACK


class SmallWeb(ThreadingHTTPServer):
    """What was asked for, robots.txt included."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, SmallWeb)
        self.server.asked.append(self.path)
        kind, body = "text/html", f"<title>Page {self.path}</title><p>Text of {self.path}."
        if self.path == "/robots.txt":
            kind, body = "text/plain", "User-agent: *\nDisallow: /private\n"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def small_web() -> Iterator[SmallWeb]:
    """The web for the time of a block."""
    web = SmallWeb()
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        web.server_close()
        thread.join()
