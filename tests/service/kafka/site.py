"""A small web on loopback that logs who asked what, and `crawl serve` beside it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from crawl.synthetic.web.log import LogEntry
from tests.free_port import LOOPBACK, free_port

PATIENCE_S = 240.0
"""That a loaded machine is given."""


class Web:
    """Pages under every name; `/to/HOST/PATH` redirects, `/links/N` has so many links."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self._lock = threading.Lock()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.answer(self)

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

        self._server = Server((LOOPBACK, 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        began = time.monotonic()
        host = handler.headers.get("host", "").partition(":")[0]
        path, status, headers = handler.path, 200, {"Content-Type": "text/html"}
        body = f"<title>Page {path}</title><p>Text of {path} at {host}".encode()
        if path == "/robots.txt":
            body, headers = b"User-agent: *\nDisallow: /no\n", {"Content-Type": "text/plain"}
        elif path.startswith("/to/"):
            target, _, rest = path[4:].partition("/")
            status, body = 302, b""
            headers["Location"] = self.url(target, f"/{rest}")
        elif path.startswith("/links/"):
            links = range(int(path[7:]))
            body += "".join(f"<a href='/linked/{n}'>{n}</a>" for n in links).encode()
        elif path == "/missing":
            status = 404
        entry = LogEntry(began, time.monotonic(), host, path, status=status)
        with self._lock:
            self.entries.append(entry)
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    def log(self) -> list[LogEntry]:
        with self._lock:
            return list(self.entries)

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def running_web() -> Iterator[Web]:
    web = Web()
    try:
        yield web
    finally:
        web.stop()


class Role:
    """A process of `crawl serve`."""

    def __init__(self, folder: Path, role: str, properties: Sequence[str], name: str) -> None:
        self.port = free_port()
        self._said = folder / f"{name}.log"
        command = [sys.executable, "-m", "crawl", "serve", str(folder / "crawl")]
        command += ["--port", str(self.port), "--role", role]
        command += [part for each in properties for part in ("-D", each)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment
            )

    @property
    def said(self) -> str:
        return self._said.read_text(errors="replace")[-6000:]

    def wait_until_ready(self) -> None:
        wait_for(lambda: self._is_ready(), lambda: f"not ready: {self.said}")

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.said
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def ask(
        self, method: str, path: str, body: object = None
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=PATIENCE_S)
        try:
            raw = None if body is None else json.dumps(body)
            connection.request(method, path, raw, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text or b"{}"), dict(answer.getheaders())
        finally:
            connection.close()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.kill()


def wait_for(
    is_so: Callable[[], bool], what: Callable[[], str], seconds: float = PATIENCE_S
) -> None:
    """Until it is so; what is told where it never is."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)
