"""What servers send that they must not, and what becomes of it: one table for every HTTP plugin.

A page is taken wherever browsers take it; where they refuse it, or where nobody can say whether it
is whole, it is a failure of one kind, whichever library reads it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.testing.http.case import HttpCase
from crawl.testing.servers.scripted_answers import then_close, then_repeat, then_reset
from crawl.testing.servers.scripted_server import ScriptedServer

_OK = b"HTTP/1.1 200 OK\r\n"
_HI = b"Content-Length: 2\r\n\r\nhi"
_MOVED = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_CHUNK = b"2\r\nhi\r\n0\r\n\r\n"
_TEXT = b"hello" * 50
_MALFORMED, _TOO_LARGE = FailureKind.MALFORMED_RESPONSE, FailureKind.HEADERS_TOO_LARGE
_PACKED = gzip.compress(_TEXT, mtime=0)


def _packed(body: bytes, encoding: bytes = b"gzip") -> bytes:
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    return _OK + b"Content-Encoding: " + encoding + b"\r\n" + length + body


# fmt: off
PAGES: dict[str, bytes] = {
    "header without a colon": _OK + b"Garbage\r\n" + _HI,
    "header that begins with a blank": _OK + b" Garbage: x\r\n" + _HI,
    "header that is folded": _OK + b"X: a\r\n b\r\n" + _HI,
    "header that is folded with TAB": _OK + b"X: a\r\n\tb\r\n" + _HI,
    "header with CR": _OK + b"X: a\rb\r\n" + _HI,
    "header that ends in CR CR LF": _OK + b"X: a\r\r\n" + _HI,
    "header with CR before the length": _OK + b"X: a\r" + _HI,
    "header with a blank before the colon": _OK + b"Content-Length : 2\r\n\r\nhi",
    "header whose name has a blank": _OK + b"X Y: 1\r\n" + _HI,
    "header without a name": _OK + b": v\r\n" + _HI,
    "header with controls": _OK + b"X: \x01\x1b[31m\r\n" + _HI,
    "header whose name is not ASCII": _OK + b"X\xe9: 1\r\n" + _HI,
    "lines that end in LF": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "header of 50 kB": _OK + b"X: " + b"x" * 50_000 + b"\r\n" + _HI,
    "5,000 headers": _OK + b"X: 1\r\n" * 4999 + _HI,
    "cookies that are none": _OK + b"Set-Cookie: =;;;\x01;Path\r\nSet-Cookie\r\n" + _HI,
    "two types": _OK + b"Content-Type: text/html\r\nContent-Type: text/plain\r\n" + _HI,
    "Keep-Alive that is none": _OK + b"Keep-Alive: timeout=-5\r\n" + _HI,
    "Location of a page": _OK + b"Location: /a\r\n" + _HI,
    "no reason": b"HTTP/1.1 200\r\n" + _HI,
    "two blanks before the status": b"HTTP/1.1  200 OK\r\n" + _HI,
    "small letters": b"http/1.1 200 OK\r\n" + _HI,
    "HTTP/1": b"HTTP/1 200 OK\r\n" + _HI,
    "HTTP/1.2": b"HTTP/1.2 200 OK\r\n" + _HI,
    "HTTP/1.10": b"HTTP/1.10 200 OK\r\n" + _HI,
    "HTTP/2 in words": b"HTTP/2 200 OK\r\n" + _HI,
    "HTTP/2.0 in words": b"HTTP/2.0 200 OK\r\n" + _HI,
    "HTTP/3.0 in words": b"HTTP/3.0 200 OK\r\n" + _HI,
    "HTTP/9.9": b"HTTP/9.9 200 OK\r\n" + _HI,
    "provisional answers": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n" + _OK + _HI,
    "an unknown provisional answer": b"HTTP/1.1 150 X\r\n\r\n" + _OK + _HI,
    "thirty provisional answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 30 + _OK + _HI,
    "chunked in capitals": _OK + b"Transfer-Encoding: CHUNKED\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "chunked twice": _OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "identity": _OK + b"Transfer-Encoding: identity\r\n" + _HI,
    "an unknown transfer coding": _OK + b"Transfer-Encoding: xchunked\r\n\r\nhi",
    "chunked and a length": _OK + b"Content-Length: 9\r\n" + _CHUNKED[17:] + _CHUNK,
    "HTTP/1.0 and chunked": _CHUNKED.replace(b"1.1", b"1.0") + b"2\r\nhi\r\n0\r\n\r\n",
    "blanks behind a size": _CHUNKED + b"2  \r\nhi\r\n0\r\n\r\n",
    "zeros before a size": _CHUNKED + b"002\r\nhi\r\n000\r\n\r\n",
    "extension of a chunk": _CHUNKED + b"2;a=b\r\nhi\r\n0\r\n\r\n",
    "garbage behind a size": _CHUNKED + b"2x\r\nhi\r\n0\r\n\r\n",
    "garbage behind the last size": _CHUNKED + b"2\r\nhi\r\n0zz\r\n\r\n",
    "chunks by LF": _CHUNKED + b"2\nhi\n0\n\n",
    "a trailer that is none": _CHUNKED + b"2\r\nhi\r\n0\r\nGarbage\r\n\r\n",
    "a length with a sign": _OK + b"Content-Length: +2\r\n\r\nhi",
    "a negative length": _OK + b"Content-Length: -2\r\n\r\nhi",
    "a length in hexadecimal": _OK + b"Content-Length: 0x2\r\n\r\nhi",
    "an empty length": _OK + b"Content-Length: \r\n\r\nhi",
    "a length with zeros": _OK + b"Content-Length: 0000000000000000000000002\r\n\r\nhi",
    "a length of two numbers": _OK + b"Content-Length: 2 2\r\n\r\nhi",
    "a length of 20 digits": _OK + b"Content-Length: 99999999999999999999\r\n\r\nhi",
    "a length and one that is none": _OK + b"Content-Length: x\r\n" + _HI,
    "the same length twice": _OK + b"Content-Length: 2\r\n" + _HI,
    "more than the length": _OK + _HI + b"more",
    "no length": _OK + b"\r\nhi",
    "a close that is announced": _OK + b"Connection: close\r\n\r\nhi",
}
"""Taken as a page with the text `hi`."""

FAILURES: dict[str, tuple[bytes | Callable[..., None], FailureKind]] = {
    "NUL in a value": (_OK + b"X: a\0b\r\n" + _HI, _MALFORMED),
    "NUL in a name": (_OK + b"X\0: a\r\n" + _HI, _MALFORMED),
    "NUL in the reason": (b"HTTP/1.1 200 O\0K\r\n" + _HI, _MALFORMED),
    "NUL in a Location": (_MOVED + b"Location: /a\0b\r\n\r\n", _MALFORMED),
    "Locations that differ": (_MOVED + b"Location: /a\r\nLocation: /b\r\n\r\n", _MALFORMED),
    "Locations of a page": (_OK + b"Location: /a\r\nlocation: /b\r\n" + _HI, _MALFORMED),
    "5,001 headers": (_OK + b"X: 1\r\n" * 5000 + _HI, _TOO_LARGE),
    "header of 100 kB": (_OK + b"X: " + b"x" * 100_000 + b"\r\n" + _HI, _TOO_LARGE),
    "reason of 70 kB": (b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n" + _HI, _TOO_LARGE),
    "endless header": (then_repeat(_OK, b"X: xxxxxxxx\r\n"), _TOO_LARGE),
    "provisional answers of 70 kB": (b"HTTP/1.1 100 Continue\r\n\r\n" * 2800 + _OK + _HI,
                                     _TOO_LARGE),
    "lines that end in CR": (b"HTTP/1.1 200 OK\rContent-Length: 2\r\rhi", FailureKind.DISCONNECTED),
    "HTTP/0.9": (b"<html>hi</html>", _MALFORMED),
    "ICY": (b"ICY 200 OK\r\n" + _HI, _MALFORMED),
    "an empty line first": (b"\r\n" + _OK + _HI, _MALFORMED),
    "garbage first": (b"garbage\r\n" + _OK + _HI, _MALFORMED),
    "TAB before the status": (b"HTTP/1.1\t200 OK\r\n" + _HI, _MALFORMED),
    "no blank behind the status": (b"HTTP/1.1 200OK\r\n" + _HI, _MALFORMED),
    **{f"status {status}": (b"HTTP/1.1 %b Odd\r\n" % status.encode() + _HI, _MALFORMED)
       for status in ("000", "099", "99", "20", "1000", "-200", "abc", "")},
    "provisional answers alone": (b"HTTP/1.1 100 Continue\r\n\r\n", FailureKind.DISCONNECTED),
    "body of a provisional answer": (b"HTTP/1.1 103 Early\r\n" + _HI + _OK + _HI, _MALFORMED),
    "101": (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhi", _MALFORMED),
    "a size that is none": (_CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n", _MALFORMED),
    "a negative size": (_CHUNKED + b"-2\r\nhi\r\n0\r\n\r\n", _MALFORMED),
    "a size with 0x": (_CHUNKED + b"0x2\r\nhi\r\n0\r\n\r\n", _MALFORMED),
    "a blank before a size": (_CHUNKED + b" 2\r\nhi\r\n0\r\n\r\n", _MALFORMED),
    "no size": (_CHUNKED + b"\r\nhi\r\n0\r\n\r\n", _MALFORMED),
    "no chunks": (_CHUNKED + b"<p>hi</p>", _MALFORMED),
    "a size of 18 digits": (_CHUNKED + b"f" * 18 + b"\r\nhi", _MALFORMED),
    "a size of 16 digits": (_CHUNKED + b"f" * 16 + b"\r\nhi", _MALFORMED),
    "a chunk that is longer": (_CHUNKED + b"2\r\nhixx\r\n0\r\n\r\n", _MALFORMED),
    "a chunk that is shorter": (_CHUNKED + b"7fffffffffffffff\r\nhi", FailureKind.DISCONNECTED),
    "no end of the last chunk": (_CHUNKED + b"2\r\nhi\r\n0\r\n", FailureKind.DISCONNECTED),
    "half a last chunk": (_CHUNKED + b"2\r\nhi\r\n0", FailureKind.DISCONNECTED),
    "no last chunk": (_CHUNKED + b"2\r\nhi\r\n", FailureKind.DISCONNECTED),
    "less than the length": (_OK + b"Content-Length: 20\r\n\r\nhi", FailureKind.DISCONNECTED),
    "a length of 19 digits": (_OK + b"Content-Length: 9223372036854775807\r\n\r\nhi",
                              FailureKind.DISCONNECTED),
    "lengths that differ": (_OK + b"Content-Length: 3\r\n" + _HI, _MALFORMED),
    "lengths in one line": (_OK + b"Content-Length: 2, 3\r\n\r\nhi!", _MALFORMED),
    "broken gzip": (_packed(_PACKED[:20] + bytes(4) + _PACKED[24:]), FailureKind.BAD_ENCODING),
    "a wrong sum of gzip": (_packed(_PACKED[:-8] + bytes(8)), FailureKind.BAD_ENCODING),
    "no gzip": (_packed(b"hello"), FailureKind.BAD_ENCODING),
    "an unknown encoding": (_packed(b"hello", b"foo"), FailureKind.BAD_ENCODING),
    "gzip that is cut": (_packed(_PACKED[:-4]), FailureKind.DISCONNECTED),
    "nothing": (b"", FailureKind.DISCONNECTED),
    "a reset": (then_reset(b""), FailureKind.DISCONNECTED),
    "a reset within the head": (then_reset(_OK + b"X: 1\r\n"), FailureKind.DISCONNECTED),
    "a reset within the body": (then_reset(_OK + b"Content-Length: 20\r\n\r\nhi"),
                                FailureKind.DISCONNECTED),
    "half a head": (_OK, FailureKind.DISCONNECTED),
}

OTHERS: dict[str, tuple[bytes, int, bytes, str]] = {
    # code, body, Location as Latin-1
    "204 with a body": (b"HTTP/1.1 204 No\r\n" + _HI, 204, b"", ""),
    "204 in chunks": (_CHUNKED.replace(b"200", b"204") + b"2\r\nhi\r\n0\r\n\r\n", 204, b"", ""),
    "304 with a body": (b"HTTP/1.1 304 No\r\n" + _HI, 304, b"", ""),
    "999": (b"HTTP/1.1 999 Odd\r\n" + _HI, 999, b"hi", ""),
    "600": (b"HTTP/1.1 600 Odd\r\n" + _HI, 600, b"hi", ""),
    "gzip and garbage": (_packed(_PACKED + b"garbage"), 200, _TEXT, ""),
    "gzip of gzip": (_packed(gzip.compress(_PACKED)), 200, _PACKED, ""),
    "gzip of gzip, as it says": (_packed(gzip.compress(_PACKED), b"gzip, gzip"), 200, _TEXT, ""),
    "Location in UTF-8": (_MOVED + "Location: /ü ß\r\n\r\n".encode(), 302, b"", "/Ã¼ Ã\x9f"),
    "Location in Latin-1": (_MOVED + b"Location: /\xfc x\r\n\r\n", 302, b"", "/ü x"),
    "Location with controls": (_MOVED + b"Location: /\x01\x7f\r\n\r\n", 302, b"", "/\x01\x7f"),
    "Location with CR": (_MOVED + b"Location: /a\rX: 1\r\n\r\n", 302, b"", "/a X: 1"),
    "Location that is folded": (_MOVED + b"Location:\r\n /a\r\n\r\n", 302, b"", "/a"),
    "Location that is empty": (_MOVED + b"Location: \r\n\r\n", 302, b"", ""),
    "no Location": (_MOVED + b"\r\n", 302, b"", ""),
    "the same Location twice": (_MOVED + b"Location: /a\r\nLocation: /a\r\n\r\n", 302, b"", "/a"),
}
# fmt: on


class HttpBadServerContract(HttpCase):
    """The part of HttpContract about servers that break the rules of HTTP. Each answer is the last
    one on its connection."""

    @pytest.mark.parametrize("name", PAGES)
    def test_taken_as_browsers_do(self, server: ScriptedServer, name: str) -> None:
        got = self.taken(server, then_close(PAGES[name]))
        assert (got.code, got.body, got.truncated) == (200, b"hi", Truncation.WHOLE)
        assert len(server.requests) <= 2

    @pytest.mark.parametrize("name", FAILURES)
    def test_a_failure_of_one_kind(self, server: ScriptedServer, name: str) -> None:
        answer, kind = FAILURES[name]
        got = self.refused(server, answer if callable(answer) else then_close(answer))
        assert got.kind is kind and got.sent > 0
        assert got.message, "it is told to people"
        assert len(server.requests) <= 2

    @pytest.mark.parametrize("name", OTHERS)
    def test_other_answers(self, server: ScriptedServer, name: str) -> None:
        answer, code, body, location = OTHERS[name]
        got = self.taken(server, then_close(answer))
        assert (got.code, got.body, got.header("Location")) == (code, body, location)
        assert got.truncated is Truncation.WHOLE
