"""An adapter of requests that connects to the pinned address and to no other, with the
host's name kept for TLS and for the server; and that shares one TLS context, because
requests else reads all authorities anew for every connection.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, Retry
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import LocationValueError

from crawl.plugins.protocol.http_base import OutgoingRequest
from crawl.plugins.protocol.requests_client.response import FinalResponse
from crawl.plugins.protocol.requests_client.sockets import CURRENT, WatchedSocket


class PinnedRequest(PreparedRequest):
    """A request with its pinned address."""

    def __init__(self, outgoing: OutgoingRequest, headers: dict[str, str]) -> None:
        super().__init__()
        self.outgoing = outgoing
        self.method = "GET"
        self.url = outgoing.target.url
        self.headers = headers  # type: ignore[assignment]
        self.body = None


class _PinnedConnection(HTTPConnection):
    response_class = FinalResponse
    keep_until = 0.0

    def _new_conn(self) -> Any:
        return _watched(super()._new_conn())

    def putheader(self, header: Any, *values: Any) -> None:
        """Ours are clean (see HeaderBuilder); http.client would look at each again."""
        if isinstance(values[0], str):
            self._output(f"{header}: {values[0]}".encode("latin-1", "replace"))  # type: ignore[attr-defined]
        else:
            super().putheader(header, *values)


class _SecureConnection(_PinnedConnection, HTTPSConnection):
    """With TLS."""


def _watched(plain: Any) -> WatchedSocket:
    timeout = plain.gettimeout()
    watched = WatchedSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
    watched.settimeout(timeout)
    return watched


class PinnedAdapter(HTTPAdapter):
    """Sends PinnedRequests."""

    def __init__(self, context: ssl.SSLContext, hosts: int, monotonic: Callable[[], float]) -> None:
        self._context = context
        self._monotonic = monotonic
        super().__init__(hosts, 8, Retry(0, read=False), pool_block=False)

    def init_poolmanager(
        self, connections: int, maxsize: int, block: bool = False, **_: Any
    ) -> None:
        monotonic = self._monotonic
        self.poolmanager = PoolManager(
            connections, maxsize=maxsize, block=block, ssl_context=self._context
        )
        # the rest is the same for all: 25 names are not sorted for every page
        self.poolmanager.key_fn_by_scheme = dict.fromkeys(("http", "https"), partial(_pool_key))
        self.poolmanager.pool_classes_by_scheme = {
            "http": _aging_pool(HTTPConnectionPool, _PinnedConnection, monotonic),
            "https": _aging_pool(HTTPSConnectionPool, _SecureConnection, monotonic),
        }

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: Any) -> Any:
        has_manager = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, ssl_context=self._context, **proxy_kwargs)
        if not has_manager:
            manager.pool_classes_by_scheme = self.poolmanager.pool_classes_by_scheme
        return manager

    def cert_verify(self, *_: Any) -> None:
        """Nothing: the shared TLS context verifies."""

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        """What the request line names, as it is written in the URL; to a proxy that passes
        requests on, the whole of it."""
        outgoing = _outgoing(request)
        is_passed_on = outgoing.proxy.startswith("http") and outgoing.target.server.scheme == "http"
        return outgoing.target.url if is_passed_on else outgoing.target.path

    def build_response(self, req: PreparedRequest, resp: Any) -> Response:
        """A bare holder of urllib3's response: nobody reads the rest."""
        response = Response.__new__(Response)  # a jar for cookies is made otherwise
        response.raw = resp
        return response

    def get_connection_with_tls_context(
        self, request: PreparedRequest, verify: Any, proxies: Any = None, cert: Any = None
    ) -> Any:
        outgoing = _outgoing(request)
        target, address = outgoing.target, outgoing.address
        if not address:
            return self.proxy_manager_for(outgoing.proxy).connection_from_host(
                target.server.host, target.server.port, target.server.scheme
            )
        # for http the name only keeps the connections of hosts on one address apart
        names = {"server_hostname": target.server.host.strip("[]")}
        if target.server.scheme == "https":
            names["assert_hostname"] = names["server_hostname"]
        return self.poolmanager.connection_from_host(
            address, target.server.port, target.server.scheme, names
        )


def _pool_key(context: dict[str, Any]) -> Any:
    return tuple(context[name] for name in ("scheme", "host", "port", "server_hostname"))


def _outgoing(request: PreparedRequest) -> OutgoingRequest:
    if not isinstance(request, PinnedRequest):
        raise LocationValueError("only pinned requests are sent")
    return request.outgoing


def _aging_pool(pool_class: Any, connection_class: Any, monotonic: Callable[[], float]) -> Any:
    """A pool class whose connections are not reused after the time that their server keeps them."""

    class AgingPool(pool_class):  # type: ignore[misc]
        ConnectionCls = connection_class

        def _get_conn(self, timeout: float | None = None) -> Any:
            connection = super()._get_conn(timeout)
            if connection.sock is not None and connection.keep_until < monotonic():
                connection.close()
            if CURRENT.watch is not None:
                CURRENT.watch.is_reused = connection.sock is not None
            return connection

    return AgingPool
