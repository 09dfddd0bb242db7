"""Wicked routes that abuse bodies: bombs, and lies about length, chunks, encodings and charsets."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.synthetic.wicked.bombs import arrow_bomb, gzip_bomb, nested_bomb
from crawl.synthetic.wicked.exchange import FINE, Exchange, Route, RouteHandler, answers, page, says

_SURPLUS = b"HTTP/1.1 200 Wicked\r\nContent-Length: 8\r\n\r\nsmuggled"
_CHUNKED = "Transfer-Encoding: chunked"
_CHUNK = f"{len(FINE):x}\r\n".encode() + FINE + b"\r\n"
_BAD = (FailureKind.BAD_ENCODING, FailureKind.MALFORMED_RESPONSE)


def _bomb(encoding: str, make: Callable[[], bytes]) -> RouteHandler:
    async def serve(exchange: Exchange) -> None:
        await exchange.head(200, f"Content-Encoding: {encoding}")
        await exchange.send(make())

    return serve


_LIE = "Content-Type: text/html; charset=utf-16; charset=no-such-charset"
_SHIFT_JIS = ("日本語のページ、ただし宣言は嘘です。" * 20).encode("shift_jis")
_LIED = b"<html><head><title>" + _SHIFT_JIS + b"</title></head></html>"
_LIED_HEAD = f"HTTP/1.1 200 Wicked\r\n{_LIE}\r\nConnection: close\r\nContent-Length: {len(_LIED)}"


def _with_body(code: int) -> Route:
    ranged = ["Content-Range: bytes 0-7/8"] if code == 206 else []
    must = (
        "record the code; it did not ask for a part"
        if code == 206
        else "record the code and take the bytes for no answer to its next request"
    )
    serve = answers(FINE, f"Content-Length: {len(FINE)}", *ranged, code=code, keep=True)
    return Route(f"/code/{code}", f"{code} with a body", must, (code,), serve)


_LIMIT = "stop at its content limit after unpacking, in constant memory"

BODY_ROUTES: tuple[Route, ...] = (
    Route(
        "/bomb/gzip",
        "1 MiB of gzip, 1 GiB unpacked",
        _LIMIT,
        (Truncation.LENGTH,),
        _bomb("gzip", gzip_bomb),
    ),
    Route(
        "/bomb/nested",
        "a few kB of gzip in gzip, 1 GiB unpacked",
        f"{_LIMIT}, or refuse the double encoding",
        (Truncation.LENGTH, *_BAD),
        _bomb("gzip, gzip", nested_bomb),
    ),
    Route(
        "/bomb/br",
        "less than 1 kB of brotli, 256 MiB unpacked; asked or not",
        f"{_LIMIT}; without brotli, refuse the encoding",
        (Truncation.LENGTH, *_BAD),
        _bomb("br", partial(arrow_bomb, "brotli")),
    ),
    Route(
        "/bomb/zstd",
        "a few kB of zstd, 256 MiB unpacked; asked or not",
        f"{_LIMIT}; without zstd, refuse the encoding",
        (Truncation.LENGTH, *_BAD),
        _bomb("zstd", partial(arrow_bomb, "zstd")),
    ),
    Route(
        "/length/short",
        "sends another whole response beyond its Content-Length, and keeps the connection",
        "cut at the announced length and take the surplus for no answer to its next request",
        (200,),
        answers(FINE + _SURPLUS, f"Content-Length: {len(FINE)}", keep=True),
    ),
    Route(
        "/length/long",
        "announces 1,000 bytes more than it sends, then closes",
        "count a disconnect: half a page is none",
        (FailureKind.DISCONNECTED,),
        answers(FINE, f"Content-Length: {len(FINE) + 1000}"),
    ),
    Route(
        "/length/garbage",
        "two lengths, one negative, one no number",
        "refuse the response, or read to the end of the connection",
        (FailureKind.MALFORMED_RESPONSE, 200),
        answers(FINE, "Content-Length: -17", "Content-Length: many"),
    ),
    Route(
        "/length/huge",
        "announces 100 TB, sends a page, then closes",
        "reserve no memory for it",
        (FailureKind.DISCONNECTED, Truncation.LENGTH),
        answers(FINE, "Content-Length: 99999999999999"),
    ),
    Route(
        "/chunks/garbage",
        "a good chunk, then a chunk size that is no number",
        "refuse the response",
        (FailureKind.MALFORMED_RESPONSE, FailureKind.DISCONNECTED),
        answers(b"5\r\nhello\r\nzz-no-number\r\nworld\r\n", _CHUNKED),
    ),
    Route(
        "/chunks/huge",
        "a chunk size of 80 bits",
        "refuse the response",
        (FailureKind.MALFORMED_RESPONSE, FailureKind.DISCONNECTED),
        answers(b"FFFFFFFFFFFFFFFFFFFF\r\n" + FINE, _CHUNKED),
    ),
    Route(
        "/chunks/unfinished",
        "closes before the last chunk",
        "count a disconnect: half a page is none",
        (FailureKind.DISCONNECTED,),
        answers(_CHUNK, _CHUNKED),
    ),
    Route(
        "/chunks/length",
        "Transfer-Encoding and a wrong Content-Length together",
        "believe the chunks, or refuse the response",
        (200, FailureKind.MALFORMED_RESPONSE),
        answers(_CHUNK + b"0\r\n\r\n", _CHUNKED, "Content-Length: 5"),
    ),
    Route(
        "/lie/charset",
        "Shift_JIS that is declared as UTF-16 and as no-such-charset",
        "keep the bytes as they are",
        (200,),
        says(f"{_LIED_HEAD}\r\n\r\n".encode() + _LIED, status=200),
    ),
    Route(
        "/lie/gzip",
        "plain text that is declared as gzip",
        "count a bad encoding, or keep the bytes as they are",
        (*_BAD, 200),
        page(FINE, "Content-Encoding: gzip"),
    ),
    Route(
        "/lie/cut",
        "gzip that ends too early",
        "count a disconnect or a bad encoding: half a page is none",
        (*_BAD, FailureKind.DISCONNECTED),
        page(gzip.compress(FINE * 100)[:-30], "Content-Encoding: gzip"),
    ),
    Route(
        "/lie/encoding",
        "Content-Encoding: x-wicked",
        "count a bad encoding, or keep the bytes as they are",
        (*_BAD, 200),
        page(FINE, "Content-Encoding: x-wicked"),
    ),
    *map(_with_body, (204, 206, 304)),
)
