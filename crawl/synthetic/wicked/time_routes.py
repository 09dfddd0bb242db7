"""Wicked routes that abuse time and connections: slow, silent, endless or cut off."""

from __future__ import annotations

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.synthetic.wicked.exchange import FINE, Exchange, Route

_FOR_EVER = 86_400.0
_TIMEOUTS = (FailureKind.FIRST_BYTE_TIMEOUT, FailureKind.LOW_SPEED, FailureKind.TOTAL_TIMEOUT)
_BODY_TIMEOUTS = (FailureKind.LOW_SPEED, FailureKind.TOTAL_TIMEOUT, Truncation.TIME)
_WITHOUT_END = (Truncation.LENGTH, Truncation.TIME)
"""Whichever limit is reached first: small chunks take a slow or busy machine its time."""
_CUT = (FailureKind.DISCONNECTED, FailureKind.MALFORMED_RESPONSE)
_HTTP_200 = b"HTTP/1.1 200 Wicked\r\nContent-Type: text/html\r\n"
_GIVE_UP = "give up at its low-speed or total limit, or keep what it has as cut by time"
_STOP = "stop at its content limit, or before at its total limit, in constant memory"


async def drip_headers(exchange: Exchange) -> None:
    await exchange.trickle(_HTTP_200 + b"X-Drip: drop\r\n" * 100_000, 0.2)


async def drip_body(exchange: Exchange) -> None:
    await exchange.head(200)
    await exchange.trickle(b"drop " * 1_000_000, 0.2)


async def endless_body(exchange: Exchange) -> None:
    await exchange.head(200)
    await exchange.repeat(b"<p>There is more to come.</p>\n")


async def endless_chunks(exchange: Exchange) -> None:
    await exchange.head(200, "Transfer-Encoding: chunked")
    await exchange.repeat(b"8\r\nAnother.\r\n")


async def never(exchange: Exchange) -> None:
    await exchange.wait(_FOR_EVER)


async def late(exchange: Exchange) -> None:
    await exchange.wait(exchange.number("seconds", 60.0))
    await exchange.page(FINE)


async def stall(exchange: Exchange) -> None:
    await exchange.head(200, "Content-Length: 100000")
    await exchange.send(b"So far, " * 100)
    await exchange.wait(_FOR_EVER)


async def close_at_once(exchange: Exchange) -> None:
    exchange.keep = False


async def reset_in_headers(exchange: Exchange) -> None:
    await exchange.send(_HTTP_200 + b"X-Half: ha")
    await exchange.reset()


async def reset_in_body(exchange: Exchange) -> None:
    await exchange.head(200, "Content-Length: 100000")
    await exchange.send(b"So far, " * 100)
    await exchange.reset()


TIME_ROUTES: tuple[Route, ...] = (
    Route(
        "/drip/headers",
        "sends headers a byte every 0.2 s (`?seconds=`), for hours",
        "give up at its low-speed or total limit",
        _TIMEOUTS,
        drip_headers,
    ),
    Route(
        "/drip/body",
        "sends the body a byte every 0.2 s (`?seconds=`), for days",
        _GIVE_UP,
        _BODY_TIMEOUTS,
        drip_body,
    ),
    Route(
        "/endless/body",
        "sends a body without length and without end, as fast as it is read",
        _STOP,
        _WITHOUT_END,
        endless_body,
    ),
    Route("/endless/chunks", "the same in small chunks", _STOP, _WITHOUT_END, endless_chunks),
    Route("/never", "never answers", "give up at its time limit", _TIMEOUTS, never),
    Route(
        "/late",
        "answers well after 60 s (`?seconds=`)",
        "give up at its time limit, or take the page",
        (*_TIMEOUTS, 200),
        late,
    ),
    Route(
        "/stall",
        "sends headers and 800 of 100,000 bytes, then nothing",
        _GIVE_UP,
        _BODY_TIMEOUTS,
        stall,
    ),
    Route(
        "/close",
        "closes without a byte",
        "count a disconnect, and try again no more than for any other",
        _CUT,
        close_at_once,
    ),
    Route("/reset/request", "resets after the request", "count it", _CUT, Exchange.reset),
    Route("/reset/headers", "resets within the headers", "count it", _CUT, reset_in_headers),
    Route(
        "/reset/body",
        "resets after 800 of 100,000 bytes",
        "count it: half a page is none",
        _CUT,
        reset_in_body,
    ),
)
