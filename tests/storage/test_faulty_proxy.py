from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.storage.faulty_proxy import (
    PASSING,
    Fault,
    FaultyProxy,
    ProxiedRequest,
    SeededFaults,
    faultless,
    running,
)

BODY = b"0123456789" * 100


class Store(BaseHTTPRequestHandler):
    """Keeps what is put, and counts it."""

    kept: list[bytes]
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.kept.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(self.kept[-1])

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "77")
        self.end_headers()

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Store", "yes")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def kept() -> list[bytes]:
    return []


@pytest.fixture
def proxy(kept: list[bytes]) -> Iterator[FaultyProxy]:
    handler = type("Bound", (Store,), {"kept": kept})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        with running("127.0.0.1", server.server_address[1]) as found:
            yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def put(proxy: FaultyProxy, body: bytes = BODY) -> tuple[int, str | None, bytes]:
    link = http.client.HTTPConnection(proxy.address.removeprefix("http://"), timeout=30)
    try:
        link.request("PUT", "/a?b=%20c", body=body)
        answer = link.getresponse()
        return answer.status, answer.getheader("X-Store"), answer.read()
    finally:
        link.close()


def test_without_a_fault_all_goes_through(proxy: FaultyProxy, kept: list[bytes]) -> None:
    assert put(proxy) == (200, "yes", BODY)
    assert kept == [BODY]
    assert proxy.requests == [ProxiedRequest(0, "PUT", "/a?b=%20c")]
    assert not proxy.faults


def test_the_size_in_an_answer_without_body_is_kept(proxy: FaultyProxy) -> None:
    link = http.client.HTTPConnection(proxy.address.removeprefix("http://"), timeout=30)
    for _ in range(2):  # on one connection
        link.request("HEAD", "/")
        answer = link.getresponse()
        assert (answer.getheader("Content-Length"), answer.read()) == ("77", b"")
    link.close()


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [(Fault.SLOW_DOWN, 503, b"SlowDown"), (Fault.DENIED, 403, b"AccessDenied")],
)
def test_a_refusal_is_an_answer_and_no_work(
    proxy: FaultyProxy, kept: list[bytes], fault: Fault, status: int, code: bytes
) -> None:
    proxy.plan = lambda request: fault
    answer = put(proxy)
    assert answer[0] == status
    assert b"<Code>" + code + b"</Code>" in answer[2]
    assert kept == []
    assert proxy.faults == {fault: 1}


@pytest.mark.parametrize(
    ("fault", "works"),
    [
        (Fault.RESET, False),
        (Fault.CUT_UPLOAD, False),
        (Fault.CUT_ANSWER, True),
        (Fault.LOST_ANSWER, True),
    ],
)
def test_a_broken_connection_before_or_after_the_work(
    proxy: FaultyProxy, kept: list[bytes], fault: Fault, works: bool
) -> None:
    proxy.plan = lambda request: fault
    with pytest.raises((OSError, http.client.HTTPException)):
        put(proxy)
    assert kept == ([BODY] if works else [])
    proxy.plan = faultless
    assert put(proxy)[0] == 200


def test_a_plan_is_the_same_for_the_same_seed() -> None:
    def drawn(seed: int) -> list[Fault | None]:
        return [
            SeededFaults(seed, 0.3)(ProxiedRequest(number, "GET", "/")) for number in range(300)
        ]

    assert drawn(1) == drawn(1) != drawn(2)
    faults = [fault for fault in drawn(1) if fault is not None]
    assert set(faults) == set(PASSING)
    assert 60 < len(faults) < 120
