from __future__ import annotations

import http.client
import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.requests_client.response import FinalResponse
from crawl.plugins.protocol.requests_client.sockets import CURRENT, TransferWatch
from crawl.plugins.protocol.shared.limits import TransferLimits


class _FakeSocket:
    """A socket from which these bytes come."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self._raw))


@pytest.fixture
def watch() -> Iterator[TransferWatch]:
    CURRENT.watch = TransferWatch(TransferLimits.of(Config.of({})), SystemClock().monotonic)
    yield CURRENT.watch
    CURRENT.watch = None


def begun(raw: bytes, kind: type[http.client.HTTPResponse] = FinalResponse) -> Any:
    response = kind(_FakeSocket(raw), method="GET")  # type: ignore[arg-type]
    response.begin()
    return response


def test_provisional_answers_are_passed_over_and_the_final_head_is_kept(
    watch: TransferWatch,
) -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
    final = b"HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 4\r\n\r\n"
    response = begun(early + final + b"body\r\n\r\nmore")
    assert watch.raw_head == final and watch.head is not None
    assert watch.head.headers == (("X", "1"), ("Content-Length", "4"))
    assert response.read() == b"body"


def test_a_server_that_never_gets_to_the_point_is_left() -> None:
    """Provisional heads count as one with the final: there is no other bound on their number."""
    with pytest.raises(http.client.LineTooLong):
        begun(b"HTTP/1.1 103 Early\r\n\r\n" * 5000)


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", http.client.RemoteDisconnected),
        (b"HTTP/1.1 200 OK\r\nX: 1", ConnectionResetError),
        (b"HTTP/1.1 200 OK\r\nX: 1\r\n", ConnectionResetError),
        (b"<html>" * 99_999, http.client.LineTooLong),
        (b"ICY 200 OK\r\n\r\n", http.client.BadStatusLine),
        (b"HTTP/1.1 twohundred\r\n\r\n", http.client.BadStatusLine),
        (b"HTTP/x.y 200 OK\r\n\r\n", http.client.BadStatusLine),
        (b"HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", http.client.HTTPException),
    ],
)
def test_what_is_no_head(raw: bytes, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        begun(raw)


def test_a_head_has_an_end(watch: TransferWatch) -> None:
    with pytest.raises(http.client.LineTooLong):
        begun(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 1_000_000)
    assert watch.expired is FailureKind.HEADERS_TOO_LARGE


@given(
    st.sampled_from([b"HTTP/1.0", b"HTTP/1.1"]),
    st.sampled_from([200, 204, 206, 301, 304, 404, 503]),
    st.lists(
        st.sampled_from(
            [
                *(b"Content-Length: 5", b"Content-Length: 0", b"content-length:  7 "),
                *(b"Content-Length: -1", b"Content-Length: many", b"Transfer-Encoding: chunked"),
                *(b"Transfer-Encoding: CHUNKED", b"Transfer-Encoding: gzip", b"Connection: close"),
                *(b"Connection: keep-alive", b"Keep-Alive: timeout=5", b"X: y"),
            ]
        ),
        max_size=4,
        unique_by=lambda line: line.split(b":")[0].lower(),
    ),
)
def test_the_body_ends_where_http_client_says(
    version: bytes, code: int, lines: list[bytes]
) -> None:
    raw = b"\r\n".join([version + b" %d Word" % code, *lines, b"", b"12345678"])
    ours, theirs = begun(raw), begun(raw, http.client.HTTPResponse)
    names = ["status", "version", "length", "will_close"]
    if code not in (204, 304):  # which have no chunks, whatever their headers say (RFC 9112, 6.3)
        names.append("chunked")
    for name in names:
        assert getattr(ours, name) == getattr(theirs, name), name
