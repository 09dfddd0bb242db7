"""libcurl's error codes, translated by one table."""

from __future__ import annotations

import errno
from typing import Final

import pycurl

from crawl.interfaces.protocol import FailureKind

FAILURE_KINDS: Final[dict[int, FailureKind]] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: FailureKind.NOT_SUPPORTED,
    pycurl.E_URL_MALFORMAT: FailureKind.NOT_SUPPORTED,
    pycurl.E_COULDNT_RESOLVE_PROXY: FailureKind.PROXY,
    pycurl.E_COULDNT_RESOLVE_HOST: FailureKind.UNKNOWN_HOST,
    pycurl.E_COULDNT_CONNECT: FailureKind.CONNECT_REFUSED,
    8: FailureKind.MALFORMED_RESPONSE,  # weird server reply
    pycurl.E_HTTP2: FailureKind.MALFORMED_RESPONSE,
    pycurl.E_PARTIAL_FILE: FailureKind.DISCONNECTED,
    pycurl.E_SSL_CONNECT_ERROR: FailureKind.TLS,
    pycurl.E_GOT_NOTHING: FailureKind.DISCONNECTED,
    pycurl.E_SEND_ERROR: FailureKind.DISCONNECTED,
    pycurl.E_RECV_ERROR: FailureKind.DISCONNECTED,
    pycurl.E_SSL_CERTPROBLEM: FailureKind.TLS,
    pycurl.E_SSL_CIPHER: FailureKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailureKind.TLS,
    pycurl.E_BAD_CONTENT_ENCODING: FailureKind.BAD_ENCODING,
    pycurl.E_SSL_SHUTDOWN_FAILED: FailureKind.TLS,
    pycurl.E_SSL_CACERT_BADFILE: FailureKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailureKind.TLS,
    91: FailureKind.TLS,  # invalid certificate status
    92: FailureKind.DISCONNECTED,  # a stream of HTTP/2 was reset
    97: FailureKind.PROXY,
    100: FailureKind.HEADERS_TOO_LARGE,
}

CONNECTION_LOST: Final = frozenset(
    (pycurl.E_PARTIAL_FILE, pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR, 92)
)
"""Errors after which a body is not whole, once the head has come."""

_REFUSED_HEADS: Final = (
    "header without colon",
    "invalid content-length",
    "unsolicited transfer-encoding",
    "unsupported http/1 subversion",
    "unsupported http version",
    "version mismatch",
    "carriage return found in header",
)


def is_refused_head(message: str) -> bool:
    """Whether libcurl has refused a head that browsers take."""
    lowered = message.lower()
    return any(text in lowered for text in _REFUSED_HEADS)


_BY_TEXT: Final = (
    ("http/0.9", FailureKind.MALFORMED_RESPONSE),
    ("hexadecimal", FailureKind.MALFORMED_RESPONSE),
    ("chunk", FailureKind.MALFORMED_RESPONSE),
    ("malformed encoding", FailureKind.MALFORMED_RESPONSE),
    ("too large response headers", FailureKind.HEADERS_TOO_LARGE),
    ("too many", FailureKind.HEADERS_TOO_LARGE),
    ("connect tunnel failed", FailureKind.PROXY),
    ("proxy connect", FailureKind.PROXY),
    ("nul byte", FailureKind.MALFORMED_RESPONSE),
)
"""Where one code stands for several things, its message decides."""


def failure_kind(code: int, message: str, *, proxied: bool) -> FailureKind:
    """What went wrong, for a code other than those of timeouts and our own stops."""
    lowered = message.lower()
    for text, kind in _BY_TEXT:
        if text in lowered:
            return kind
    kind = FAILURE_KINDS.get(code, FailureKind.OTHER)
    return FailureKind.PROXY if proxied and kind is FailureKind.CONNECT_REFUSED else kind


CONNECT_ERRNO_KINDS: Final = {
    errno.ETIMEDOUT: FailureKind.CONNECT_TIMEOUT,  # the kernel gave up before libcurl did
    errno.ECONNRESET: FailureKind.DISCONNECTED,
}
"""Kinds of failed connections by the system's errno, where they are no refusals."""
