"""An HTTP proxy in front of a store that goes wrong by a plan: for tests of endurance.

It takes each request whole, asks the plan, and then hands it on, refuses it, or breaks the
connection before, in the middle of, or after the work. `SeededFaults` draws faults by chance, the
same ones for the same seed; what was done is counted in `faults`.
"""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Fault(Enum):
    """What can go wrong with a request."""

    SLOW_DOWN = "503 SlowDown instead of the work"
    DENIED = "403 AccessDenied instead of the work"
    RESET = "the connection is reset and nothing is done"
    CUT_UPLOAD = "the connection is reset half way through the request's body"
    CUT_ANSWER = "the work is done, and its answer breaks off half way"
    LOST_ANSWER = "the work is done, and its answer gets lost"


PASSING = tuple(fault for fault in Fault if fault is not Fault.DENIED)
"""Those that end by themselves."""


@dataclass(frozen=True, slots=True)
class ProxiedRequest:
    """A request as the plan sees it; requests are numbered from 0."""

    number: int
    method: str
    path: str


FaultPlan = Callable[[ProxiedRequest], Fault | None]


@dataclass(frozen=True, slots=True)
class SeededFaults:
    """A share of the requests meets a fault, whichever chance says."""

    seed: int
    share: float
    faults: tuple[Fault, ...] = PASSING

    def __call__(self, request: ProxiedRequest) -> Fault | None:
        chance = random.Random(f"{self.seed} {request.number}")
        return chance.choice(self.faults) if chance.random() < self.share else None


def faultless(request: ProxiedRequest) -> Fault | None:
    return None


class FaultyProxy:
    """A proxy that runs. The plan can be exchanged at any time."""

    def __init__(self, host: str, port: int, plan: FaultPlan) -> None:
        self.plan = plan
        self.faults: Counter[Fault] = Counter()
        self.requests: list[ProxiedRequest] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), type("Bound", (_Relay,), {"proxy": self}))
        self._backend = (host, port)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def next_fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            request = ProxiedRequest(len(self.requests), method, path)
            self.requests.append(request)
            fault = self.plan(request)
            if fault is not None:
                self.faults[fault] += 1
            return fault

    def forward(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        link = http.client.HTTPConnection(*self._backend, timeout=60)
        try:
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                link.putheader(name, value)
            link.endheaders(body)
            answer = link.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            link.close()


@contextmanager
def running(host: str, port: int, plan: FaultPlan = faultless) -> Iterator[FaultyProxy]:
    """A proxy on a free port of loopback, for the time of a block."""
    proxy = FaultyProxy(host, port, plan)
    server = proxy._server
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news here."""


class _Relay(BaseHTTPRequestHandler):
    proxy: FaultyProxy
    protocol_version = "HTTP/1.1"

    def _relay(self) -> None:
        fault = self.proxy.next_fault(self.command, self.path)
        size = int(self.headers.get("Content-Length") or 0)
        if fault is Fault.RESET:
            return self._reset()
        if fault is Fault.CUT_UPLOAD:
            self.rfile.read(size // 2)
            return self._reset()
        body = self.rfile.read(size)
        if len(body) < size:
            return self._reset()  # the client died: nobody has sent this
        if fault is Fault.SLOW_DOWN:
            return self._refuse(503, "SlowDown", "Please reduce your request rate.")
        if fault is Fault.DENIED:
            return self._refuse(403, "AccessDenied", "Access Denied")
        headers = [
            (name, value)
            for name, value in self.headers.items()
            if name.lower() not in ("connection", "expect")
        ]
        answer = self.proxy.forward(self.command, self.path, headers, body)
        # an answer without a body cannot break off in it
        if fault is Fault.LOST_ANSWER or (fault is Fault.CUT_ANSWER and not answer[2]):
            return self._reset()
        return self._answer(*answer, cut=fault is Fault.CUT_ANSWER)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _relay  # noqa: N815

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, *, cut: bool
    ) -> None:
        self.send_response_only(status)
        header_names = {name.lower() for name, _ in headers}
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        if "content-length" not in header_names:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self._reset()

    def _refuse(self, status: int, code: str, message: str) -> None:
        body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        if self.command == "HEAD":
            body = b""
        self._answer(status, [("Content-Type", "application/xml")], body, cut=False)

    def _reset(self) -> None:
        """Ends the connection the rude way: the other side gets an error, no end of file."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.wfile.flush()
        # both files share the socket: it is really closed when all three are
        self.rfile.close()
        self.wfile.close()
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test has the counters."""
