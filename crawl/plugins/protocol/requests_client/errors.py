"""What requests, urllib3, http.client and sockets raise, translated by one table."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from typing import Final

import requests
import urllib3.exceptions as u3

from crawl.interfaces.protocol import FailureKind

TRANSFER_ERRORS: Final = (
    requests.RequestException,
    u3.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)
"""Everything that a transfer may raise."""

_TABLE: Final[tuple[tuple[tuple[type[BaseException], ...], FailureKind], ...]] = (
    ((requests.exceptions.ProxyError, u3.ProxyError), FailureKind.PROXY),
    ((http.client.LineTooLong,), FailureKind.HEADERS_TOO_LARGE),
    ((requests.exceptions.SSLError, u3.SSLError, ssl.SSLError), FailureKind.TLS),
    (
        (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError),
        FailureKind.DISCONNECTED,
    ),
    # a NewConnectionError is a ConnectTimeoutError to urllib3
    ((u3.NewConnectionError, ConnectionRefusedError), FailureKind.CONNECT_REFUSED),
    ((requests.ConnectTimeout, u3.ConnectTimeoutError), FailureKind.CONNECT_TIMEOUT),
    (
        (u3.InvalidChunkLength, u3.LocationParseError, http.client.BadStatusLine),
        FailureKind.MALFORMED_RESPONSE,
    ),
    ((u3.IncompleteRead, http.client.IncompleteRead), FailureKind.DISCONNECTED),
    ((http.client.HTTPException, u3.HeaderParsingError), FailureKind.MALFORMED_RESPONSE),
    ((ConnectionError, u3.ProtocolError), FailureKind.DISCONNECTED),
    ((ValueError,), FailureKind.MALFORMED_RESPONSE),
)


def failure_kind(error: BaseException) -> FailureKind:
    """The kind of the first row of the table that any exception in the chain of causes matches."""
    chain = list(_chain(error))
    if any("got more than" in str(each) for each in chain):
        return FailureKind.HEADERS_TOO_LARGE
    for types, kind in _TABLE:
        if any(isinstance(each, types) for each in chain):
            return kind
    return FailureKind.OTHER


def _chain(error: BaseException) -> Iterator[BaseException]:
    ids: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, BaseException) or id(each) in ids:
            continue
        ids.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
