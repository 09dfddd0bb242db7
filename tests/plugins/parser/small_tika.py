"""A Tika server of one answer, which keeps what it was sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class SmallTika:
    answer: bytes = b"[{}]"
    code: int = 200
    hangs: bool = False
    released: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""


@contextmanager
def small_tika() -> Iterator[SmallTika]:
    tika = SmallTika()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            tika.asked.append((self.command, self.path, headers, body))
            if tika.hangs:
                tika.released.wait(30)
                return
            self.send_response(tika.code)
            self.send_header("Content-Length", str(len(tika.answer)))
            self.end_headers()
            try:
                self.wfile.write(tika.answer)
            except OSError:
                return  # it was sent enough

        def log_message(self, *arguments: object) -> None:
            """Not on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tika.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield tika
    finally:
        tika.released.set()
        server.shutdown()
        server.server_close()
