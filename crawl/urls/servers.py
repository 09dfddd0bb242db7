"""The server that a URL names: what all URLs of a host share, read once and remembered.

A fetch parses each URL several times, and all of it is needed only of those that are not
yet spelt as the standard spells them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from crawl.model.value import quick_value
from crawl.urls.parse import URL, authority, parse

_PORTS = {"http": 80, "https": 443, "ftp": 21}
_SCHEMES = ("http://", "https://")
_EMPTY = ("http:///", "https:///")
"""More slashes are passed over, and what follows them is the server's part."""
_NOT_IN_A_SERVER = frozenset("\\?#")
_SHORTEST = len("http://x")
"""A slash from here on ends the server's part."""
_LONGEST = 300
"""Longer ones than DNS allows are nothing to remember."""
_REMEMBERED = 16_384
_untouched = re.compile(r"[A-Za-z0-9/_.~!$&()*+,;=:@?-]*").fullmatch
"""Paths and queries that the standard leaves as they are, but for dot segments."""


@quick_value(frozen=True, slots=True)
class Server:
    """Who is asked for a URL."""

    scheme: str
    host: str
    """IPv6 in brackets; empty of this machine's files."""
    port: int
    authority: str
    """For the Host header: without the scheme's own port."""
    origin: str
    """`scheme://host:port`, without the scheme's own port: what a robots.txt speaks for."""
    is_literal: bool
    """The host is an address: the standard writes every spelling of one in digits."""


def server_of(url: str) -> Server | None:
    """None where it is no URL, or neither of a host nor of a file."""
    end = url.find("/", _SHORTEST, _LONGEST)
    # a lone surrogate, wherever it is, makes it no URL
    remembered = _remembered(url[:end]) if end > 0 and url.isascii() else None
    if remembered is not None:
        return remembered
    parsed = parse(url)
    return None if parsed is None else _server(parsed)


def server_and_path(url: str) -> tuple[Server, str] | None:
    """The server, and what to ask it for: path and query as the standard spells them. None
    where it is no URL, or neither of a host nor of a file."""
    end = url.find("/", _SHORTEST, _LONGEST)
    if end > 0:
        path = url[end:]
        if _untouched(path) and "/." not in path:
            remembered = _remembered(url[:end])
            if remembered is not None:
                return remembered, path
    parsed = parse(url)
    server = None if parsed is None else _server(parsed)
    if parsed is None or server is None:
        return None
    path = parsed.path or "/"
    return server, path if parsed.query is None else f"{path}?{parsed.query}"


@lru_cache(_REMEMBERED)
def _remembered(beginning: str) -> Server | None:
    """The server of all URLs that begin so, up to the slash that follows; None where that
    alone does not say."""
    is_web = beginning.startswith(_SCHEMES) and not beginning.startswith(_EMPTY)
    if not is_web or not _NOT_IN_A_SERVER.isdisjoint(beginning):
        return None
    parsed = parse(f"{beginning}/")
    return None if parsed is None else _server(parsed)


def _server(url: URL) -> Server | None:
    if not url.host and url.scheme != "file":
        return None
    port = _PORTS.get(url.scheme, 0) if url.port is None else url.port
    return Server(
        url.scheme,
        url.host,
        port,
        url.host if url.port is None else f"{url.host}:{url.port}",
        authority(url),
        url.host.startswith("[") or url.host.rpartition(".")[2].isdecimal(),
    )
