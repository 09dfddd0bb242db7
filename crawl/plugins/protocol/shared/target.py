"""What a URL asks of a connection, as the URL standard reads it."""

from __future__ import annotations

from crawl.model.value import quick_value
from crawl.urls.servers import Server, server_and_path

_SCHEMES = ("http", "https", "ftp")


@quick_value(frozen=True, slots=True)
class RequestTarget:
    """A URL without what is not sent: user, password and fragment."""

    server: Server
    path: str
    """With its query."""

    @property
    def plain(self) -> str:
        return self.server.origin + self.path


def request_target(url: str) -> RequestTarget | None:
    """None where it is no URL, or none that names a server."""
    found = server_and_path(url)
    if found is None or found[0].scheme not in _SCHEMES:
        return None
    return RequestTarget(*found)
