"""Wicked routes that abuse bodies: bombs, and lies about length, chunks, encodings and charsets."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.synthetic.wicked.bombs import arrow_bomb, gzip_bomb, nested_bomb
from crawl.synthetic.wicked.exchange import FINE, Exchange, Route, RouteHandler

_SURPLUS = b"HTTP/1.1 200 Wicked\r\nContent-Length: 8\r\n\r\nsmuggled"
_BAD = (FailureKind.BAD_ENCODING, FailureKind.MALFORMED_RESPONSE)


def _bomb(encoding: str, make: Callable[[], bytes]) -> RouteHandler:
    async def serve(exchange: Exchange) -> None:
        await exchange.head(200, f"Content-Encoding: {encoding}")
        await exchange.send(make())

    return serve


async def length_short(exchange: Exchange) -> None:
    exchange.keep = True
    await exchange.head(200, f"Content-Length: {len(FINE)}")
    await exchange.send(FINE + _SURPLUS)


async def length_long(exchange: Exchange) -> None:
    await exchange.head(200, f"Content-Length: {len(FINE) + 1000}")
    await exchange.send(FINE)


async def length_garbage(exchange: Exchange) -> None:
    await exchange.head(200, "Content-Length: -17", "Content-Length: many")
    await exchange.send(FINE)


async def length_huge(exchange: Exchange) -> None:
    await exchange.head(200, "Content-Length: 99999999999999")
    await exchange.send(FINE)


async def chunks_garbage(exchange: Exchange) -> None:
    await exchange.head(200, "Transfer-Encoding: chunked")
    await exchange.send(b"5\r\nhello\r\nzz-no-number\r\nworld\r\n")


async def chunks_huge(exchange: Exchange) -> None:
    await exchange.head(200, "Transfer-Encoding: chunked")
    await exchange.send(b"FFFFFFFFFFFFFFFFFFFF\r\n" + FINE)


async def chunks_unfinished(exchange: Exchange) -> None:
    await exchange.head(200, "Transfer-Encoding: chunked")
    await exchange.send(f"{len(FINE):x}\r\n".encode() + FINE + b"\r\n")


async def chunks_and_length(exchange: Exchange) -> None:
    await exchange.head(200, "Transfer-Encoding: chunked", "Content-Length: 5")
    await exchange.send(f"{len(FINE):x}\r\n".encode() + FINE + b"\r\n0\r\n\r\n")


async def lie_charset(exchange: Exchange) -> None:
    text = "日本語のページ、ただし宣言は嘘です。" * 20
    lie = "Content-Type: text/html; charset=utf-16; charset=no-such-charset"
    body = b"<html><head><title>" + text.encode("shift_jis") + b"</title></head></html>"
    exchange.status = 200
    head = f"HTTP/1.1 200 Wicked\r\n{lie}\r\nConnection: close\r\nContent-Length: {len(body)}"
    await exchange.send(f"{head}\r\n\r\n".encode() + body)


async def lie_plain_as_gzip(exchange: Exchange) -> None:
    await exchange.page(FINE, "Content-Encoding: gzip")


async def lie_gzip_cut(exchange: Exchange) -> None:
    await exchange.page(gzip.compress(FINE * 100)[:-30], "Content-Encoding: gzip")


async def lie_unknown_encoding(exchange: Exchange) -> None:
    await exchange.page(FINE, "Content-Encoding: x-wicked")


def _with_body(code: int) -> Route:
    async def serve(exchange: Exchange) -> None:
        exchange.keep = True
        ranged = ["Content-Range: bytes 0-7/8"] if code == 206 else []
        await exchange.head(code, f"Content-Length: {len(FINE)}", *ranged)
        await exchange.send(FINE)

    must = (
        "record the code; it did not ask for a part"
        if code == 206
        else "record the code and take the bytes for no answer to its next request"
    )
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
        length_short,
    ),
    Route(
        "/length/long",
        "announces 1,000 bytes more than it sends, then closes",
        "count a disconnect: half a page is none",
        (FailureKind.DISCONNECTED,),
        length_long,
    ),
    Route(
        "/length/garbage",
        "two lengths, one negative, one no number",
        "refuse the response, or read to the end of the connection",
        (FailureKind.MALFORMED_RESPONSE, 200),
        length_garbage,
    ),
    Route(
        "/length/huge",
        "announces 100 TB, sends a page, then closes",
        "reserve no memory for it",
        (FailureKind.DISCONNECTED, Truncation.LENGTH),
        length_huge,
    ),
    Route(
        "/chunks/garbage",
        "a good chunk, then a chunk size that is no number",
        "refuse the response",
        (FailureKind.MALFORMED_RESPONSE, FailureKind.DISCONNECTED),
        chunks_garbage,
    ),
    Route(
        "/chunks/huge",
        "a chunk size of 80 bits",
        "refuse the response",
        (FailureKind.MALFORMED_RESPONSE, FailureKind.DISCONNECTED),
        chunks_huge,
    ),
    Route(
        "/chunks/unfinished",
        "closes before the last chunk",
        "count a disconnect: half a page is none",
        (FailureKind.DISCONNECTED,),
        chunks_unfinished,
    ),
    Route(
        "/chunks/length",
        "Transfer-Encoding and a wrong Content-Length together",
        "believe the chunks, or refuse the response",
        (200, FailureKind.MALFORMED_RESPONSE),
        chunks_and_length,
    ),
    Route(
        "/lie/charset",
        "Shift_JIS that is declared as UTF-16 and as no-such-charset",
        "keep the bytes as they are",
        (200,),
        lie_charset,
    ),
    Route(
        "/lie/gzip",
        "plain text that is declared as gzip",
        "count a bad encoding, or keep the bytes as they are",
        (*_BAD, 200),
        lie_plain_as_gzip,
    ),
    Route(
        "/lie/cut",
        "gzip that ends too early",
        "count a disconnect or a bad encoding: half a page is none",
        (*_BAD, FailureKind.DISCONNECTED),
        lie_gzip_cut,
    ),
    Route(
        "/lie/encoding",
        "Content-Encoding: x-wicked",
        "count a bad encoding, or keep the bytes as they are",
        (*_BAD, 200),
        lie_unknown_encoding,
    ),
    _with_body(204),
    _with_body(206),
    _with_body(304),
)
