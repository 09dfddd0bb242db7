"""Servers whose heads libcurl refuses though browsers take them, and the client that reads them.

libcurl gives up at a header line without a colon or a Content-Length that is no number, and
what it has received by then is lost. To ask the same server again at once would be rude, so the
page is asked for again after the server's pause, as the engine does for a failure of this
kind; from then on answers of the server are read by the client of http-requests, which keeps
to the same limits.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from crawl.interfaces.protocol import Failure, Response
from crawl.plugins.protocol.http_base import HttpBase, OutgoingRequest

_MAX_SERVERS = 10_000


class LenientClient:
    """Remembers servers, the least recently asked are forgotten, and sends requests to them."""

    def __init__(self, make: Callable[[], HttpBase]) -> None:
        """`make` builds the client when the first server needs it."""
        self._make = make
        self._client: HttpBase | None = None
        self._origins: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, origin: str) -> None:
        """Has answers of the server read by this client from now on."""
        with self._lock:
            self._origins[origin] = None
            if len(self._origins) > _MAX_SERVERS:
                self._origins.popitem(last=False)

    def is_for(self, origin: str) -> bool:
        """Whether answers of the server are to be read by this client."""
        return bool(self._origins) and origin in self._origins

    def send(self, outgoing: OutgoingRequest) -> Response | Failure:
        """Sends the request once and reads the response."""
        with self._lock:
            origin = outgoing.target.server.origin
            if origin in self._origins:
                self._origins.move_to_end(origin)
            self._client = self._client or self._make()
        return self._client.send(outgoing)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
