"""A real HTTP receiver on loopback that does what its paths say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WAIT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """What came, and how it is answered."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.port = 0
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.under_way = self.most_under_way = 0
        self.may_go_on = threading.Event()
        self._changed = threading.Condition()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def note(self, received: Received) -> None:
        with self._changed:
            self.received.append(received)
            self._changed.notify_all()

    def of(self, path: str) -> list[Received]:
        with self._changed:
            return [each for each in self.received if each.path == path]

    def wait_for(self, path: str, count: int) -> list[Received]:
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: sum(each.path == path for each in self.received) >= count, WAIT_SECONDS
            )
        assert arrived, f"{len(self.of(path))} of {count} have come to {path}"
        return self.of(path)

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._changed:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            yield
        finally:
            with self._changed:
                self.under_way -= 1

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path
        if path in self.answers:
            self.answers[path](handler)
        elif path.startswith("/status/"):
            self._plain(handler, int(path.split("/")[2]))
        elif path.startswith("/wait"):
            self.may_go_on.wait(WAIT_SECONDS)
            self._plain(handler, 200)
        elif path == "/redirect":
            handler.send_response(302)
            handler.send_header("Location", self.url("/target"))
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif path == "/endless":
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b"x" * 65_536)
        elif path == "/long-head":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for number in range(2_000):
                handler.wfile.write(b"X-%d: %s\r\n" % (number, b"y" * 100))
            handler.wfile.write(b"\r\n")
        elif path == "/close":
            pass
        elif path == "/half-head":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Half: ")
        elif path == "/no-http":
            handler.wfile.write(b"hello\r\n\r\n")
        elif path == "/provisional":
            handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n")
            handler.wfile.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            self._plain(handler, 200)

    @staticmethod
    def _plain(handler: BaseHTTPRequestHandler, status: int) -> None:
        handler.send_response(status)
        if status in (429, 503):
            handler.send_header("Retry-After", "77")
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"ok")


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            received = Received(self.path, dict(self.headers.items()), self.rfile.read(length))
            self.close_connection = self.path not in ("/", "/ok")
            with receiver.counted(), suppress(OSError):
                receiver.note(received)
                receiver.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

        def get_request(self) -> tuple[socket.socket, object]:
            return super().get_request()

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.may_go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()
