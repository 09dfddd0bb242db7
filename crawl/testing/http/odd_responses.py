"""Responses that break rules of HTTP and that browsers take all the same."""

from __future__ import annotations

import socket
import time

import pytest

from crawl.interfaces.protocol import Failure, FailureKind, Response, Truncation
from crawl.testing.http.case import HttpCase
from crawl.testing.servers.scripted_answers import drip, then_close, then_repeat, then_reset
from crawl.testing.servers.scripted_server import ScriptedServer, honest

_OK = b"HTTP/1.1 200 OK\r\n"
_MOVED = b"HTTP/1.1 302 Found\r\nLocation: /there\r\n"


class HttpOddResponseContract(HttpCase):
    """The part of HttpContract about odd responses."""

    @pytest.mark.parametrize(
        "rest",
        [
            b"Content-Length: 100\r\n\r\nabc",
            b"Content-Length: 1\r\n\r\nabc",
            b"Content-Length: many\r\n\r\nabc",
            b"Content-Length: -1\r\n\r\nabc",
            b"no colon\r\n\r\nabc",
            b"Transfer-Encoding: chunked\r\n\r\nzzz\r\nabc",
            b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            b"Transfer-Encoding: chunked\r\n\r\n<p>moved</p>",
            b"Transfer-Encoding: odd\r\n\r\nabc",
            b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
            b"Content-Encoding: br\r\nContent-Length: 3\r\n\r\n\xff\xff\xff",
            b"Content-Encoding: odd\r\nContent-Length: 3\r\n\r\nabc",
        ],
    )
    @pytest.mark.parametrize("is_reset", [False, True])
    def test_a_redirect_with_a_broken_body_keeps_its_location(
        self, server: ScriptedServer, rest: bytes, is_reset: bool
    ) -> None:
        got = self.taken(server, (then_reset if is_reset else then_close)(_MOVED + rest))
        assert (got.code, got.header("Location")) == (302, "/there")

    def test_a_redirect_whose_body_never_comes_keeps_its_location(
        self, server: ScriptedServer
    ) -> None:
        def waiting(connection: socket.socket) -> None:
            connection.sendall(_MOVED + b"Content-Length: 100\r\n\r\n<p>")
            time.sleep(3)

        server.answers["/"] = waiting
        plugin = self.plugin(http_low_speed_time="500ms", http_low_speed_limit=100)
        got = self.response(plugin, server.url())
        assert (got.header("Location"), got.truncated) == ("/there", Truncation.TIME)

    @pytest.mark.parametrize("code", [404, 410, 500])
    def test_an_error_counts_though_its_body_cannot_be_read(
        self, server: ScriptedServer, code: int
    ) -> None:
        server.page("/", b"not packed", "Content-Encoding: gzip", code=code)
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.truncated) == (code, Truncation.DISCONNECT)

    @pytest.mark.parametrize(
        "lines",
        [
            b"Garbage\r\nX: 1\r\n",
            b"X: 1\r\nGarbage\r\n",
            b"X: 1\r\n<!-- a comment -->\r\nSet-Cookie\r\n",
            b" folded at once\r\nX: 1\r\n",
            b": no name\r\nX: 1\r\n",
            b"X: 1\r\nY: folded\r\n again\r\n",
        ],
    )
    def test_a_header_line_without_a_colon_is_skipped(
        self, server: ScriptedServer, lines: bytes
    ) -> None:
        got = self.taken(server, _OK + lines + b"Content-Length: 2\r\n\r\nhi")
        assert (got.code, got.body, got.truncated) == (200, b"hi", Truncation.WHOLE)
        assert got.header("X") == "1"

    @pytest.mark.parametrize(
        "length", [b"many", b"", b"-1", b"+2", b"2x", b"2.0", b"2 bytes", b"9" * 30, b"\xb2"]
    )
    def test_a_content_length_that_is_no_number_is_ignored(
        self, server: ScriptedServer, length: bytes
    ) -> None:
        head = _OK + b"Content-Length: " + length + b"\r\n\r\n"
        got = self.taken(server, then_close(head + b"<p>all of it</p>"))
        assert (got.body, got.truncated) == (b"<p>all of it</p>", Truncation.WHOLE)

    @pytest.mark.parametrize("lengths", [b"2\r\nContent-Length: 2", b"2, 2", b"2,2"])
    def test_a_length_that_is_said_twice_is_one(
        self, server: ScriptedServer, lengths: bytes
    ) -> None:
        got = self.taken(server, _OK + b"Content-Length: " + lengths + b"\r\n\r\nhi")
        assert (got.body, got.truncated) == (b"hi", Truncation.WHOLE)

    @pytest.mark.parametrize("lengths", [b"2\r\nContent-Length: 3", b"2, 3"])
    def test_lengths_that_differ_are_refused(self, server: ScriptedServer, lengths: bytes) -> None:
        """As browsers do: somebody may have put two responses together."""
        got = self.refused(server, then_close(_OK + b"Content-Length: " + lengths + b"\r\n\r\nhi!"))
        assert got.kind is FailureKind.MALFORMED_RESPONSE

    @pytest.mark.parametrize("coding", [b"odd", b"identity", b"gzip"])
    def test_a_transfer_coding_that_nobody_asked_for_is_ignored(
        self, server: ScriptedServer, coding: bytes
    ) -> None:
        got = self.taken(server, then_close(_OK + b"Transfer-Encoding: " + coding + b"\r\n\r\nhi"))
        assert got.body == b"hi"

    @pytest.mark.parametrize(
        "line",
        [
            *(b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1  200 OK", b"HTTP/1 200 OK"),
            *(b"HTTP/1.2 200 OK", b"HTTP/1.0 200 \xe9", b"http/1.1 200 OK"),
        ],
    )
    def test_odd_status_lines(self, server: ScriptedServer, line: bytes) -> None:
        got = self.taken(server, line + b"\r\nContent-Length: 2\r\n\r\nhi")
        assert (got.code, got.body) == (200, b"hi")

    def test_odd_bytes_of_a_location_are_kept(self, server: ScriptedServer) -> None:
        location = b"/caf\xc3\xa9 \xe9\x01"
        server.answers["/"] = then_close(
            b"HTTP/1.1 301 Moved\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"
        )
        got = self.response(self.plugin(), server.url())
        assert got.header("Location").encode("latin-1") == location

    def test_the_limits_hold_for_odd_responses(self, server: ScriptedServer) -> None:
        odd = _OK + b"no colon\r\nContent-Length: many\r\n"
        server.answers |= {
            "/long": then_close(odd + b"\r\n" + b"x" * 2000),
            "/head": then_repeat(odd, b"X-Long: xxxxxxxx\r\n"),
            "/endless": then_repeat(odd + b"\r\n", b"x" * 4096),
            "/slow": drip(odd + b"\r\n", b"x"),
        }
        plugin = self.plugin(http_content_limit=1000, http_time_limit="1500ms")
        long, endless = (self.asked_for(plugin, server.url(path)) for path in ("/long", "/endless"))
        for got in (long, endless):
            assert isinstance(got, Response), got
            assert (len(got.body), got.truncated) == (1000, Truncation.LENGTH)
        head = self.asked_for(plugin, server.url("/head"))
        assert isinstance(head, Failure) and head.kind is FailureKind.HEADERS_TOO_LARGE
        slow = self.asked_for(plugin, server.url("/slow"))
        assert isinstance(slow, Response) and slow.truncated is Truncation.TIME

    def test_an_honest_page_of_such_a_server_is_read_as_ever(self, server: ScriptedServer) -> None:
        server.answers["/odd"] = _OK + b"no colon\r\nContent-Length: 2\r\n\r\nhi"
        server.answers["/"] = honest(b"Fine")
        plugin = self.plugin()
        self.asked_for(plugin, server.url("/odd"))
        assert self.response(plugin, server.url()).body == b"Fine"
