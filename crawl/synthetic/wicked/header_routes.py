"""Wicked routes that abuse status lines and headers: floods, garbage, strange bytes."""

from __future__ import annotations

from crawl.interfaces.protocol import FailureKind
from crawl.synthetic.wicked.exchange import FINE, Exchange, Route, RouteHandler, page, says

_FLOODED = (FailureKind.HEADERS_TOO_LARGE,)
_STRANGE = (200, FailureKind.MALFORMED_RESPONSE)
_OPENING = b"HTTP/1.1 200 Wicked\r\nContent-Type: text/html\r\n"
_CLOSING = f"Connection: close\r\nContent-Length: {len(FINE)}\r\n\r\n".encode() + FINE
_BLOCK = 65_536
_NO_RESPONSE = (FailureKind.MALFORMED_RESPONSE, FailureKind.DISCONNECTED)


def _with_headers(odd: bytes) -> RouteHandler:
    """A page with these lines in its head."""
    return says(_OPENING + odd + _CLOSING, status=200)


async def endless(exchange: Exchange) -> None:
    await exchange.send(_OPENING)
    await exchange.repeat(b"X-More: there is always more\r\n")


async def many(exchange: Exchange) -> None:
    headers = b"".join(b"X-Flood-%d: %d\r\n" % (n, n) for n in range(100_000))
    await exchange.send(_OPENING + headers + _CLOSING)


async def one(exchange: Exchange) -> None:
    await exchange.send(_OPENING + b"X-Flood: ")
    for _ in range(10_000_000 // _BLOCK + 1):
        await exchange.send(b"x" * _BLOCK)
    await exchange.send(b"\r\n" + _CLOSING)


async def cookies(exchange: Exchange) -> None:
    crumb = b"x" * 4000
    jar = b"".join(b"Set-Cookie: c%d=%b; Path=/\r\n" % (n, crumb) for n in range(1000))
    await exchange.send(_OPENING + jar + _CLOSING)


async def continues(exchange: Exchange) -> None:
    await exchange.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")


HEADER_ROUTES: tuple[Route, ...] = (
    Route("/endless/headers", "headers without end", "stop at its limit", _FLOODED, endless),
    Route("/flood/many", "100,000 headers, 2 MB", "stop at its limit", _FLOODED, many),
    Route("/flood/one", "one header of 10 MB", "stop at its limit", _FLOODED, one),
    Route("/flood/cookies", "1,000 cookies of 4 kB", "stop at its limit", _FLOODED, cookies),
    Route(
        "/flood/continue",
        "100 Continue without end, never asked for",
        "stop at its limit for headers or for time",
        (
            *(FailureKind.HEADERS_TOO_LARGE, FailureKind.MALFORMED_RESPONSE),
            *(FailureKind.TOTAL_TIMEOUT, FailureKind.FIRST_BYTE_TIMEOUT),
        ),
        continues,
    ),
    Route(
        "/headers/nul",
        "NULs in a header",
        "take or refuse, not crash",
        _STRANGE,
        _with_headers(b"X-Nul: a\0b\r\nX-\0: c\r\n"),
    ),
    Route(
        "/headers/bytes",
        "headers that are not ASCII, nor UTF-8",
        "take the page; no header may make a record unwritable",
        _STRANGE,
        _with_headers("X-Ünïcode: grün\r\n".encode() + b"X-Bytes: \xff\xfe\x80\r\n"),
    ),
    Route(
        "/headers/folded",
        "folded lines, a line without a colon, one without a name",
        "take or refuse, not crash",
        _STRANGE,
        _with_headers(b"X-Folded: one\r\n two\r\n\tthree\r\nno colon here\r\n: no name\r\n"),
    ),
    Route(
        "/headers/newlines",
        "lines that end without a carriage return",
        "take or refuse, not wait",
        _STRANGE,
        says((_OPENING + _CLOSING).replace(b"\r\n", b"\n"), status=200),
    ),
    Route(
        "/status/garbage",
        "a status line of another protocol",
        "refuse the response",
        _NO_RESPONSE,
        says(b"\x16\x03\x01 SIP/2.0 fine by me\r\n\r\n" + FINE),
    ),
    Route(
        "/status/number",
        "a status of eleven digits",
        "refuse the response",
        _NO_RESPONSE,
        says(b"HTTP/1.1 99999999999 Wicked\r\n" + _CLOSING),
    ),
    Route("/status/799", "a status that nobody knows", "record it", (799,), page(FINE, code=799)),
    Route(
        "/status/none",
        "a body and nothing else, as HTTP/0.9 did",
        "refuse the response",
        _NO_RESPONSE,
        says(FINE),
    ),
)
