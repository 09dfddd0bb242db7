"""What an HTTP plugin reads of a response, and where it stops."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.testing.http.case import HttpCase
from crawl.testing.servers.scripted_answers import (
    drip,
    then_close,
    then_repeat,
    then_reset,
    then_wait,
)
from crawl.testing.servers.scripted_server import ScriptedServer, honest


class HttpResponseContract(HttpCase):
    """The part of HttpContract about responses."""

    @pytest.mark.parametrize(
        ("encoding", "pack"),
        [
            ("gzip", gzip.compress),
            ("x-gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("deflate", lambda data: zlib.compress(data, wbits=-15)),
            ("identity", bytes),
            ("gzip, deflate", lambda data: zlib.compress(gzip.compress(data))),
        ],
    )
    def test_encodings(
        self, server: ScriptedServer, encoding: str, pack: Callable[[bytes], bytes]
    ) -> None:
        plain = b"<p>" + bytes(range(256)) * 300
        server.page("/", pack(plain), f"Content-Encoding: {encoding}")
        got = self.response(self.plugin(), server.url())
        assert got.body == plain and not got.truncated
        assert got.header("Content-Encoding") == encoding

    @pytest.mark.parametrize(
        "encoding", ["gzip", "br", "zstd", "deflate", "compress", "gzip" + ",gzip" * 9]
    )
    def test_what_cannot_be_unpacked(self, server: ScriptedServer, encoding: str) -> None:
        server.page("/", b"\xff\xfeThis is not packed at all", f"Content-Encoding: {encoding}")
        assert self.failure(self.plugin(), server.url()).kind is FailureKind.BAD_ENCODING

    def test_an_empty_body_is_in_any_encoding(self, server: ScriptedServer) -> None:
        server.page("/", b"", "Content-Encoding: gzip")
        got = self.response(self.plugin(), server.url())
        assert (got.body, got.truncated) == (b"", Truncation.WHOLE)

    def test_the_limit_holds_on_the_wire_and_unpacked(self, server: ScriptedServer) -> None:
        server.page("/fits", b"x" * 1000)
        server.page("/long", b"x" * 1001)
        server.page("/bomb", gzip.compress(bytes(5_000_000)), "Content-Encoding: gzip")
        noise = bytes(zlib.crc32(str(n).encode()) & 0xFF for n in range(3000))
        server.page("/wire", gzip.compress(noise), "Content-Encoding: gzip")
        plugin = self.plugin(http_content_limit=1000)
        fits = self.response(plugin, server.url("/fits"))
        assert (len(fits.body), fits.truncated) == (1000, Truncation.WHOLE)
        for path in ("/long", "/bomb", "/wire"):
            got = self.response(plugin, server.url(path))
            assert len(got.body) <= 1000 and got.truncated is Truncation.LENGTH, path
        assert len(self.response(plugin, server.url("/long")).body) == 1000

    def test_a_request_may_bring_its_own_limit(self, server: ScriptedServer) -> None:
        server.page("/", b"x" * 1000)
        got = self.response(self.plugin(), server.url(), max_bytes=10)
        assert (got.body, got.truncated) == (b"x" * 10, Truncation.LENGTH)
        plugin = self.plugin(http_content_limit=10)
        assert not self.response(plugin, server.url(), max_bytes=1000).truncated

    def test_an_endless_body_is_left_at_the_limit(self, server: ScriptedServer) -> None:
        server.answers["/"] = then_repeat(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536)
        got = self.response(self.plugin(), server.url())
        assert (len(got.body), got.truncated) == (1024 * 1024, Truncation.LENGTH)

    def test_chunks(self, server: ScriptedServer) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        server.answers["/"] = head + b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-After: 1\r\n\r\n"
        server.answers["/cut"] = then_close(head + b"3\r\nabc\r\n")
        plugin = self.plugin()
        got = self.response(plugin, server.url())
        assert (got.body, got.truncated) == (b"abcde", Truncation.WHOLE)
        assert got.response_headers == head
        assert self.response(plugin, server.url()).body == b"abcde"
        assert self.failure(plugin, server.url("/cut")).kind is FailureKind.DISCONNECTED

    def test_a_page_that_breaks_off_is_a_failure(self, server: ScriptedServer) -> None:
        page, chunked = honest(b"x" * 100), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        packed = gzip.compress(bytes(range(256)) * 100)
        whole = honest(packed, "Content-Encoding: gzip")
        server.answers |= {
            "/closed": then_close(page[:-40]),
            "/reset": then_reset(page[:-40]),
            "/nothing": then_close(page[:-100]),
            "/chunk": then_close(chunked + b"9\r\nabc"),
            "/between-chunks": then_close(chunked + b"3\r\nabc\r\n"),
            "/chunks-reset": then_reset(chunked + b"3\r\nabc\r\n"),
            "/no-length-reset": then_reset(b"HTTP/1.1 200 OK\r\n\r\nabc"),
            "/gzip-closed": then_close(whole[:-30]),
        }
        server.page("/gzip-cut", packed[:-30], "Content-Encoding: gzip")
        server.page("/created", b"x" * 100, code=201)
        plugin = self.plugin()
        for path in server.answers:
            if path == "/created":
                continue
            got = self.failure(plugin, server.url(path))
            assert got.kind is FailureKind.DISCONNECTED and got.sent > 0, path
            assert got.message.isprintable() and got.message, path
        assert self.response(plugin, server.url("/created")).code == 201

    def test_a_close_in_good_order_ends_a_page_without_a_length(
        self, server: ScriptedServer
    ) -> None:
        server.answers["/"] = then_close(b"HTTP/1.0 200 OK\r\n\r\nabc")
        packed = gzip.compress(b"abc")
        server.answers["/gzip"] = then_close(
            b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + packed
        )
        plugin = self.plugin()
        for path in ("/", "/gzip"):
            got = self.response(plugin, server.url(path))
            assert (got.body, got.truncated) == (b"abc", Truncation.WHOLE)

    def test_a_limit_of_ours_truncates_what_breaks_off_later(self, server: ScriptedServer) -> None:
        server.answers["/"] = then_close(honest(b"x" * 1000)[:-40])
        got = self.response(self.plugin(), server.url(), max_bytes=10)
        assert (got.body, got.truncated) == (b"x" * 10, Truncation.LENGTH)

    @pytest.mark.parametrize("code", [302, 404, 503])
    def test_another_answer_counts_though_its_body_breaks_off(
        self, server: ScriptedServer, code: int
    ) -> None:
        page = honest(b"x" * 100, "Location: /there", code=code)
        server.answers["/"] = then_close(page[:-40])
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.truncated) == (code, Truncation.DISCONNECT)
        assert got.header("Location") == "/there"

    @pytest.mark.parametrize("body", [b"", b"2\r\nhi\r\n"])
    def test_a_trailer_is_no_head(self, server: ScriptedServer, body: bytes) -> None:
        server.answers["/"] = (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"
            + body
            + b"0\r\nX: y\r\n\r\n"
        )
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.body) == (200, b"hi" if body else b"")

    @pytest.mark.parametrize("end", [b"\n", b"\r\n"])
    def test_heads_end_as_they_like(self, server: ScriptedServer, end: bytes) -> None:
        early = b"HTTP/1.1 103 Early Hints" + end + end
        server.answers["/"] = early + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.body) == (200, b"hi")

    def test_provisional_answers_are_passed_over(self, server: ScriptedServer) -> None:
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
        server.answers["/"] = b"HTTP/1.1 100 Continue\r\n\r\n" + early + honest(b"Fine")
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.body) == (200, b"Fine")
        assert got.response_headers + b"Fine" == honest(b"Fine") and not got.header("Link")

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (b"", FailureKind.DISCONNECTED),
            (b"HTTP/1.1 200 OK\r\nX: 1\r\n", FailureKind.DISCONNECTED),
            (b"Good morning!\r\n\r\n", FailureKind.MALFORMED_RESPONSE),
            (b"HTTP/1.1 nine OK\r\n\r\n", FailureKind.MALFORMED_RESPONSE),
        ],
    )
    def test_no_answer(self, server: ScriptedServer, answer: bytes, kind: FailureKind) -> None:
        got = self.refused(server, then_close(answer))
        assert got.kind is kind and got.sent > 0 and got.message.isprintable()

    def test_large_headers(self, server: ScriptedServer) -> None:
        server.page("/fits", b"Fine", "X-Long: " + "x" * 8000)
        server.page("/long", b"Fine", *["X-Long: " + "x" * 8000] * 10)
        server.answers["/endless"] = then_repeat(b"HTTP/1.1 200 OK\r\n", b"X-Long: xxxxxxxx\r\n")
        plugin = self.plugin()
        assert self.response(plugin, server.url("/fits")).code == 200
        for path in ("/long", "/endless"):
            got = self.failure(plugin, server.url(path))
            assert got.kind is FailureKind.HEADERS_TOO_LARGE, path

    def test_no_first_byte(self, server: ScriptedServer) -> None:
        server.answers["/"] = then_wait(b"")
        got = self.failure(self.plugin(http_first_byte_timeout=300), server.url())
        assert got.kind is FailureKind.FIRST_BYTE_TIMEOUT and got.sent > 0
        assert got.elapsed_ms >= 300

    def test_dripping_is_too_slow(self, server: ScriptedServer) -> None:
        server.answers["/head"] = drip(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n")
        server.answers["/body"] = drip(b"HTTP/1.1 200 OK\r\n\r\n", b"xxx")
        plugin = self.plugin(http_low_speed_time="900ms", http_low_speed_limit=100)
        for path in ("/head", "/body"):
            assert self.failure(plugin, server.url(path)).kind is FailureKind.LOW_SPEED, path

    def test_the_whole_time(self, server: ScriptedServer) -> None:
        server.answers["/head"] = drip(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n")
        server.answers["/body"] = drip(b"HTTP/1.1 200 OK\r\n\r\n", b"xxx")
        plugin = self.plugin(http_time_limit="800ms", http_low_speed_limit=0)
        assert self.failure(plugin, server.url("/head")).kind is FailureKind.TOTAL_TIMEOUT
        got = self.response(plugin, server.url("/body"))
        assert got.truncated is Truncation.TIME and got.body.startswith(b"xxx")

    def test_one_wait_for_everything(self, server: ScriptedServer) -> None:
        server.answers["/"] = then_wait(b"")
        got = self.failure(self.plugin(http_timeout=1000), server.url())
        assert got.kind is FailureKind.FIRST_BYTE_TIMEOUT
