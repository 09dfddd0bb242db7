"""Where a request goes and what it asks for, as the URL standard reads its URL."""

from __future__ import annotations

from crawl.model.value import quick_value
from crawl.urls.servers import Server, server_and_path

_SCHEMES = ("http", "https", "ftp")


@quick_value(frozen=True, slots=True)
class RequestTarget:
    """A URL without what is never sent: user, password and fragment."""

    server: Server
    path: str
    """Path and query."""

    @property
    def url(self) -> str:
        return self.server.origin + self.path


def request_target(url: str) -> RequestTarget | None:
    """The target of a URL; None where it is no URL of http, https or ftp."""
    server_path = server_and_path(url)
    if server_path is None or server_path[0].scheme not in _SCHEMES:
        return None
    return RequestTarget(*server_path)
