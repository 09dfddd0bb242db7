"""What both HTTP plugins do before a request is sent: proxy, address, headers, credentials."""

from __future__ import annotations

import base64
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from crawl.config import Config, properties_in
from crawl.interfaces.protocol import Failure, FailureKind, FetchProtocol, Request, Response
from crawl.masking import secrets_of_head
from crawl.model.value import quick_value
from crawl.net import addresses, dns
from crawl.net.dns import MONOTONIC, HostLookup, HostResolver, Resolve, Timer, system_addresses
from crawl.net.secret_mask import SecretMask
from crawl.plugins.protocol.shared import connections, limits, proxies, request_headers
from crawl.plugins.protocol.shared.credentials import AUTH_FILE, Credentials, credentials
from crawl.plugins.protocol.shared.limits import TransferLimits
from crawl.plugins.protocol.shared.proxies import ProxyRules
from crawl.plugins.protocol.shared.request_headers import HeaderBuilder, RequestHeaders
from crawl.plugins.protocol.shared.target import RequestTarget, request_target

Located = TypeVar("Located")


@quick_value(frozen=True, slots=True)
class OutgoingRequest:
    """A request with all that is needed to send and to record it."""

    request: Request
    target: RequestTarget
    address: str
    """The pinned address; empty behind a proxy."""
    proxy: str
    headers: RequestHeaders
    digest: Credentials | None
    """Credentials for a Digest challenge, where one is to be answered."""
    dns_ms: int | None = 0
    """How long the host was looked up; None where a proxy does that."""

    def head(self, version: str) -> bytes:
        """The head of the request as it is stored; HTTP/2 is written as HTTP/1.1 would be."""
        first = f"GET {self.target.path} {version}\r\nHost: {self.target.server.authority}\r\n"
        return first.encode("latin-1", "replace") + self.headers.rendered

    def failure(
        self, kind: FailureKind, message: str, sent: float = 0.0, elapsed_ms: int = 0
    ) -> Failure:
        """The failure with a message that may be stored: libraries repeat what the server said, and
        the server what it was sent."""
        masked_message = SecretMask(self._secrets()).masked(message)
        return Failure(self.request.url, kind, masked_message, sent, elapsed_ms)

    def _secrets(self) -> Iterator[str]:
        for value in secrets_of_head(b"\n".join(self.headers.lines)):
            yield value
            scheme, _, code = value.partition(" ")
            yield code
            if scheme.lower() == "basic":
                yield _password_of(code)
        if self.digest is not None:
            yield self.digest.secret
        yield unquote(urlsplit(self.proxy).password or "")


def _password_of(code: str) -> str:
    """Of the value of a Basic header; empty where it is none."""
    try:
        return base64.b64decode(code).decode("utf-8", "replace").partition(":")[2]
    except ValueError:
        return ""


class HttpBase(FetchProtocol):
    """The common part of the HTTP plugins; each adds `send` and `close`."""

    schemes: tuple[str, ...] = ("http", "https")
    properties = (
        *properties_in(addresses, dns, connections, limits, proxies, request_headers),
        AUTH_FILE,
    )

    def __init__(
        self, config: Config, *, resolver: Resolve = system_addresses, monotonic: Timer = MONOTONIC
    ) -> None:
        self.limits = TransferLimits.of(config)
        self.monotonic = monotonic
        self.resolver = HostResolver(config, resolver, monotonic=monotonic)
        self._header_builder = HeaderBuilder(config)
        # None where there are none: they are looked up for every page
        self._proxy_rules = ProxyRules(config) or None
        self._credentials = credentials(config) or None

    def fetch(self, request: Request) -> Response | Failure:
        target = request_target(request.url)
        if target is None or target.server.scheme not in self.schemes:
            return Failure(request.url, FailureKind.NOT_SUPPORTED, "not an http or https URL")
        begun = self.monotonic()
        proxy, located = self.route(target, self.resolver.locate)
        lookup_ms = round((self.monotonic() - begun) * 1000)
        prepared = self.prepare(request, target, proxy, located, lookup_ms)
        return prepared if isinstance(prepared, Failure) else self.send(prepared)

    def route(
        self, target: RequestTarget, look_up: Callable[[str], Located]
    ) -> tuple[str, Located | HostLookup]:
        """The URL of the proxy to use, the next where there are several, empty for none; and where
        the host is, which must be looked up, or its address checked, here or by the proxy."""
        server = target.server
        proxy = "" if self._proxy_rules is None else self._proxy_rules.proxy_for(server)
        is_here = not proxy or server.is_literal
        return proxy, look_up(server.host) if is_here else self.resolver.proxied_lookup(server.host)

    def prepare(
        self,
        request: Request,
        target: RequestTarget,
        proxy: str,
        located: HostLookup,
        lookup_ms: int = 0,
    ) -> OutgoingRequest | Failure:
        """All that must be known to send the request; a Failure where it may not be sent."""
        if not located.addresses:
            return Failure(request.url, located.kind, located.message)
        headers = self._header_builder.headers(request, target.server.host)
        logins = self._credentials
        login = None if logins is None else logins.get(target.server.host)
        if login is not None and login.header:
            headers = RequestHeaders((*headers.pairs, ("Authorization", login.header)))
            login = None
        address = "" if proxy else located.addresses[0]
        dns_ms = None if proxy else lookup_ms
        return OutgoingRequest(request, target, address, proxy, headers, login, dns_ms)

    @abstractmethod
    def send(self, outgoing: OutgoingRequest) -> Response | Failure:
        """Sends the request once and reads the response."""
