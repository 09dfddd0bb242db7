"""What becomes of connections where all that there may be are taken."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from crawl.service.api.http_limits import HttpLimits
from crawl.service.faces.serving import listening, served

LOOPBACK = "127.0.0.1"
LIMITS = HttpLimits(connections=3, timeout_s=3_600.0)
PATIENCE_S = 240.0
ASKED = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


async def _fine(request: Request) -> PlainTextResponse:
    return PlainTextResponse("fine")


@pytest.fixture
def port() -> Iterator[int]:
    listener = listening(LOOPBACK, 0)
    taken = listener.getsockname()[1]
    with served(Starlette(routes=[Route("/", _fine)]), listener, LIMITS):
        yield taken


@contextmanager
def held(port: int, beginning: bytes) -> Iterator[None]:
    """All connections that there may be, each of which has begun so and does nothing more."""
    opened = []
    try:
        for _ in range(LIMITS.connections):
            opened.append(socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S))
            opened[-1].sendall(beginning)
        yield
    finally:
        for each in opened:
            each.close()


def _answer(port: int) -> bytes:
    with socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) as asking:
        try:
            asking.sendall(ASKED)
            return asking.recv(12)
        except OSError:  # it was refused before it had asked
            return b""


def test_who_says_nothing_gives_way_to_who_asks(port: int) -> None:
    with held(port, b""):
        end = time.monotonic() + PATIENCE_S
        while _answer(port) != b"HTTP/1.1 200":
            assert time.monotonic() < end, "those who say nothing keep everybody out"
            time.sleep(0.2)


def test_who_has_begun_with_a_request_is_not_sent_away_for_another(port: int) -> None:
    with held(port, b"GET / HTTP/1.1\r\n"):
        time.sleep(1.5)
        assert _answer(port) != b"HTTP/1.1 200"
