"""What a URL asks of a connection, as the URL standard reads it."""

from __future__ import annotations

from typing import NamedTuple

from crawl.urls.parse import URL, parse

_PORTS = {"http": 80, "https": 443, "ftp": 21}


class Target(NamedTuple):
    """A URL without what is not sent: user, password and fragment. A tuple, for it is made
    for every page."""

    url: URL
    scheme: str
    host: str
    """IPv6 in brackets."""
    port: int
    authority: str
    """For the Host header."""
    path: str
    """With its query."""

    @property
    def plain(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def is_literal(self) -> bool:
        """The host is an address: the standard writes every spelling of one in digits."""
        return self.host.startswith("[") or self.host.rpartition(".")[2].isdecimal()


def target_of(url: str) -> Target | None:
    """None where it is no URL, or none that names a server."""
    parsed = parse(url)
    if parsed is None or not parsed.host or parsed.scheme not in _PORTS:
        return None
    path = parsed.path or "/"
    return Target(
        url=parsed,
        scheme=parsed.scheme,
        host=parsed.host,
        port=_PORTS[parsed.scheme] if parsed.port is None else parsed.port,
        authority=parsed.host if parsed.port is None else f"{parsed.host}:{parsed.port}",
        path=path if parsed.query is None else f"{path}?{parsed.query}",
    )
