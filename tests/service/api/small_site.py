"""A small web on loopback that says what its paths ask it to, and notes what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

_PAGE = """<html><head><title>Page {path}</title></head><body><h1>Hello {path}</h1>
<p>Some words of a page that is long enough to be one, about lighthouses and their keepers.
<a href="/p/{path}a">on</a></p></body></html>"""


@dataclass
class SmallSite:
    """`/p/NAME` is a page with one link, `to(URL)` a redirect to it, `/held` a page that is not
    answered before `release` is set."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def to(self, target: str) -> str:
        """A URL that redirects; it has no query, which URL filters reject by default."""
        return self.url(f"/to/{target.encode().hex()}")


@contextmanager
def small_site() -> Iterator[SmallSite]:
    """The site while the block runs."""
    site = SmallSite()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers.get("Host", "")
            if self.path != "/robots.txt":
                site.asked.append(f"http://{host}{self.path}")
            parts = urlsplit(self.path)
            if parts.path.startswith("/held"):
                site.release.wait(120)
            if parts.path.startswith("/to/"):
                target = bytes.fromhex(parts.path.rpartition("/")[2]).decode()
                self._answer(302, b"", Location=target)
            elif parts.path.startswith(("/p/", "/held")):
                path = unquote(parts.path.rpartition("/")[2])
                self._answer(200, _PAGE.format(path=path).encode())
            else:
                self._answer(404, b"nothing")

        def _answer(self, code: int, body: bytes, **headers: str) -> None:
            self.send_response(code)
            for name, value in {"Content-Type": "text/html", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
