"""protocol: gets the bytes behind a URL of one scheme, within limits.

A protocol sends exactly one request: it follows no redirect, tries nothing twice and
knows no politeness. What may go wrong on a network is an answer here, not an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from crawl.config import Config
from crawl.model.value import quick_value

Headers = tuple[tuple[str, str], ...]
"""Names and values in the order in which they were sent."""


@quick_value(frozen=True, slots=True)
class Request:
    """What to ask for."""

    url: str
    modified_since_ms: int = 0
    """When we last met a change of the page, by our own clock; 0 for never. A protocol whose
    servers compare moments asks for the page only if it changed after this one."""
    etag: str = ""
    """Ask for the page only if it is no longer this version; empty for any."""
    last_modified: str = ""
    """Ask for the page only if it changed since the date that its server named, in the very
    words of the server: nginx answers 304 to no other date; empty for any."""
    headers: Headers = ()
    """Further headers, such as a Cookie."""
    max_bytes: int | None = None
    """Another limit for the body than the configured one."""
    why_withheld: Callable[[], str] | None = None
    """Called immediately before the request is sent, by the thread that sends it and as late as the
    protocol can: with a connection made. Returns why nothing may be sent any more, or an
    empty text; with a reason the answer is a failure of kind WITHHELD."""


class Truncation(StrEnum):
    """Why a body is not whole; empty for a whole one."""

    WHOLE = ""
    LENGTH = "length"
    """Longer than the limit, on the wire or unpacked."""
    TIME = "time"
    """The time for the whole document was up."""
    DISCONNECT = "disconnect"
    """The connection ended before the body did, or the body could not be read to its end. A
    page of which that is true is a failure: this marks other answers, whose head tells what
    matters."""


@quick_value(frozen=True, slots=True)
class Response:
    """What came back, whatever its code."""

    url: str
    code: int
    headers: Headers = ()
    body: bytes = b""
    """With content encodings removed."""
    truncated: Truncation = Truncation.WHOLE
    ip: str = ""
    version: str = ""
    """`HTTP/1.1`, `HTTP/2` …"""
    cipher: str = ""
    request_headers: bytes = b""
    """Verbatim, for WARC."""
    response_headers: bytes = b""
    """Verbatim, for WARC."""
    sent: float = 0.0
    """Monotonic seconds when the request began to be sent: what a server sees as its start."""
    elapsed_ms: int = 0
    """Without the look-up of the host, which comes before."""
    dns_ms: int | None = None
    """How long the host was looked up, 0 where it was known; this and what follows is None where
    the protocol does not know."""
    connect_ms: int | None = None
    """How long the connection took, TLS included; 0 for one that was kept from before."""
    first_byte_ms: int | None = None
    """From the sending to the first byte of the answer."""

    def header(self, name: str) -> str:
        """The last header of that name, in any case; empty where there is none."""
        lower_name, size = name.lower(), len(name)
        for key, value in reversed(self.headers):  # a plain loop: it is asked for every page
            if len(key) == size and key.lower() == lower_name:
                return value
        return ""


class FailureKind(StrEnum):
    """Why there is no response; each is a reason to count."""

    UNKNOWN_HOST = "unknown_host"
    ADDRESS_REFUSED = "address_refused"
    """The host resolves to an address that must not be asked: private, loopback …"""
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS = "tls"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    LOW_SPEED = "low_speed"
    TOTAL_TIMEOUT = "total_timeout"
    HEADERS_TOO_LARGE = "headers_too_large"
    DISCONNECTED = "disconnected"
    STALE_CONNECTION = "stale_connection"
    """The server closed a connection that was kept from before as the request was sent:
    that says nothing of the page, which is asked for once more."""
    REFUSED_HEAD = "refused_head"
    """The library that reads answers refuses the head of this one, though browsers take such
    heads. The plugin will read it by other means, so that it is asked for once more."""
    MALFORMED_RESPONSE = "malformed_response"
    BAD_ENCODING = "bad_encoding"
    """The body cannot be unpacked as announced."""
    PROXY = "proxy"
    NOT_SUPPORTED = "not_supported"
    """Nothing here speaks the URL's scheme, or it is no URL."""
    WITHHELD = "withheld"
    """Whoever wanted the request took it back before it was sent; the message has their reason."""
    OTHER = "other"


@quick_value(frozen=True, slots=True)
class Failure:
    """No response, and why."""

    url: str
    kind: FailureKind
    message: str = ""
    """One line for people."""
    sent: float = 0.0
    """As in Response; 0 where nothing was sent."""
    elapsed_ms: int = 0


class FetchProtocol(Protocol):
    """One way to fetch. Built once a task and called by many threads at the same time."""

    schemes: tuple[str, ...]
    """The URL schemes it speaks, such as `("http", "https")`."""

    def __init__(self, config: Config) -> None:
        """Reads its properties; raises ConfigError where they cannot be meant."""

    def fetch(self, request: Request) -> Response | Failure:
        """Sends the request and reads the answer, within every configured limit.

        Must not raise on anything a URL or a server can do, must return in bounded time
        and memory, and must be safe to call from several threads.
        """
        ...

    def close(self) -> None:
        """Closes kept connections; no call follows."""


class Transfers(Protocol):
    """Requests under way in one thread, which calls everything here but `wake`."""

    def begin(self, request: Request, ticket: object) -> bool:
        """Starts a request; False where that might block: a thread is to `fetch` it then.

        Keeps to all that `fetch` promises.
        """
        ...

    def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
        """The tickets and answers of requests that ended; waits for one, or for `wake`, for
        so many seconds at the most."""
        ...

    def wake(self) -> None:
        """Ends the waiting of `advance`; from any thread."""

    def close(self) -> None:
        """Drops what is under way; no call follows."""


@runtime_checkable
class Multiplexing(Protocol):
    """A FetchProtocol that can have many requests under way in one thread."""

    def transfers(self) -> Transfers:
        """A new driver; closed before the protocol is."""
        ...
