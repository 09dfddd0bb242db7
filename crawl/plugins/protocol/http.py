"""protocol http: HTTP/1.1 and HTTP/2 by libcurl, the default.

By pycurl, because it costs a tenth of the CPU of any client written in Python and lets
us pin addresses, see each byte as it comes and stop a transfer at any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pycurl

from crawl.clock import SystemClock
from crawl.config import Config, Property
from crawl.fetcher.dns import DNS_PROPERTIES, HostResolver, Resolve, system_addresses
from crawl.interfaces.protocol import (
    Failure,
    FailureKind,
    Headers,
    Request,
    Response,
    Truncation,
)
from crawl.plugins.protocol.asking import ASKING_PROPERTIES, Asking
from crawl.plugins.protocol.body import Body
from crawl.plugins.protocol.connecting import (
    CONNECTING_PROPERTIES,
    IDLE_TIME,
    MAX_IDLE,
    TLS_CHECK,
    USE_HTTP2,
    authorities,
)
from crawl.plugins.protocol.credentials import AUTH_FILE, Credentials, credentials
from crawl.plugins.protocol.curl_errors import CONNECTION_LOST, connect_timed_out, kind_of
from crawl.plugins.protocol.curl_handle import CurlHandle
from crawl.plugins.protocol.curl_pool import CurlPool
from crawl.plugins.protocol.limits import LIMIT_PROPERTIES, Limits
from crawl.plugins.protocol.proxies import PROXY_PROPERTIES, Proxies
from crawl.plugins.protocol.target import Target, target_of

_SYSTEM = SystemClock()
_VERSIONS = {1: "HTTP/1.0", 2: "HTTP/1.1", 3: "HTTP/2", 30: "HTTP/3"}


@dataclass(frozen=True, slots=True)
class _Sending:
    """A request, with all that is needed to make and to tell it."""

    request: Request
    target: Target
    address: str
    """Pinned; empty behind a proxy."""
    proxy: str
    headers: Headers
    login: Credentials | None

    def head(self, version: str) -> bytes:
        """The request as it is sent; HTTP/2 in the spelling of its forerunner."""
        lines = [
            f"GET {self.target.path} {version or 'HTTP/1.1'}",
            f"Host: {self.target.authority}",
        ]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


class HttpProtocol:
    """`http`: fetches by libcurl."""

    schemes: tuple[str, ...] = ("http", "https")
    properties: ClassVar[tuple[Property[Any], ...]] = (
        *ASKING_PROPERTIES,
        *LIMIT_PROPERTIES,
        *CONNECTING_PROPERTIES,
        *PROXY_PROPERTIES,
        AUTH_FILE,
        *DNS_PROPERTIES,
    )

    def __init__(
        self,
        config: Config,
        *,
        resolver: Resolve = system_addresses,
        monotonic: Callable[[], float] = _SYSTEM.monotonic,
    ) -> None:
        self._asking = Asking(config)
        self._limits = Limits.of(config)
        self._proxies = Proxies(config)
        self._credentials = credentials(config)
        self._resolver = HostResolver(config, resolver, monotonic=monotonic)
        self._monotonic = monotonic
        self._idle_time = max(1, int(config[IDLE_TIME]))
        self._verify = config[TLS_CHECK]
        self._authorities = authorities(config)
        self._http2 = config[USE_HTTP2]
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        self._pool = CurlPool(self._handle, config[MAX_IDLE])

    def fetch(self, request: Request) -> Response | Failure:
        target = target_of(request.url)
        if target is None or target.scheme not in self.schemes:
            return Failure(request.url, FailureKind.NOT_SUPPORTED, "not an http or https URL")
        proxy = self._proxies.proxy_for(target.url)
        address = ""
        if not proxy or target.is_literal:
            located = self._resolver.locate(target.host)
            if not located.addresses:
                return Failure(request.url, located.kind, located.message)
            address = "" if proxy else located.addresses[0]
        login = self._credentials.get(target.host)
        headers = self._asking.headers(request, target.host)
        if login is not None and login.header:
            headers = (*headers, ("Authorization", login.header))
        sending = _Sending(request, target, address, proxy, headers, login)
        handle = self._pool.take(f"{target.scheme}://{target.host}:{target.port} {proxy}")
        try:
            return self._send(handle, sending)
        finally:
            self._pool.give_back(handle)

    def close(self) -> None:
        self._pool.close()

    def _send(self, handle: CurlHandle, sending: _Sending) -> Response | Failure:
        digest = sending.login is not None and sending.login.scheme == "digest"
        body = Body(self._limits.body_of(sending.request.max_bytes))
        handle.begin(body, requests=2 if digest else 1)
        code, message = 0, ""
        try:
            self._prepare(handle, sending, digest=digest)
            handle.curl.perform()
        except pycurl.error as error:
            code = error.args[0]
            message = handle.curl.errstr() or str(error.args[-1])
        except (ValueError, UnicodeError) as error:  # what libcurl cannot even be told
            return Failure(sending.request.url, FailureKind.NOT_SUPPORTED, str(error))
        return self._answer(handle, sending, code, message)

    def _prepare(self, handle: CurlHandle, sending: _Sending, *, digest: bool) -> None:
        target = sending.target
        handle.curl.setopt(pycurl.URL, target.plain)
        handle.set(pycurl.HTTPHEADER, [_line(name, value) for name, value in sending.headers])
        handle.set(pycurl.PROXY, sending.proxy)  # an empty one: none, whatever the environment
        if sending.address:
            bracketed = f"[{sending.address}]" if ":" in sending.address else sending.address
            # whatever libcurl reads as the host: it goes to the judged address
            handle.set(pycurl.CONNECT_TO, [f"::{bracketed}:{target.port}"])
        elif handle.options.pop(pycurl.CONNECT_TO, None):
            handle.curl.setopt(pycurl.CONNECT_TO, [])
        if digest and sending.login is not None:
            handle.set(pycurl.HTTPAUTH, pycurl.HTTPAUTH_DIGEST)
            handle.set(pycurl.USERNAME, sending.login.user)
            handle.set(pycurl.PASSWORD, sending.login.secret)
        elif handle.options.pop(pycurl.USERNAME, None) is not None:
            for option in (pycurl.USERNAME, pycurl.PASSWORD):
                handle.options.pop(option, None)
                handle.curl.unsetopt(option)
        # only what libcurl tells its log says which cipher is in use
        handle.set(pycurl.VERBOSE, 1 if target.scheme == "https" or digest else 0)

    def _answer(
        self, handle: CurlHandle, sending: _Sending, code: int, message: str
    ) -> Response | Failure:
        curl, head, body = handle.curl, handle.head, handle.body
        sent = handle.asked_at
        elapsed_ms = round(curl.getinfo(pycurl.TOTAL_TIME) * 1000)
        kind: FailureKind | None = None
        if head is None or head.code < 200 or handle.stopped or body.fault:
            kind, message = self._failure(handle, sending, code, message)
        elif code == pycurl.E_OPERATION_TIMEDOUT:
            body.truncated = Truncation.TIME
        elif code and not body.truncated:
            kind = kind_of(code, message, proxied=bool(sending.proxy))
            if kind is FailureKind.DISCONNECTED and code in CONNECTION_LOST:
                kind = None
                body.truncated = Truncation.DISCONNECT
        elif not code:
            body.end()
        if kind is not None or head is None:
            return Failure(
                sending.request.url, kind or FailureKind.OTHER, message, sent, elapsed_ms
            )
        keep = self._idle_time if head.keep_seconds is None else max(1, head.keep_seconds - 1)
        handle.set(pycurl.MAXAGE_CONN, min(keep, self._idle_time))
        version = _VERSIONS.get(curl.getinfo(pycurl.INFO_HTTP_VERSION), head.version)
        return Response(
            url=sending.request.url,
            code=head.code,
            headers=head.headers,
            body=body.content(),
            truncated=body.truncated,
            ip=sending.address,
            version=version,
            cipher=handle.cipher if sending.target.scheme == "https" else "",
            request_headers=handle.request_head or sending.head(version),
            response_headers=b"".join(handle.lines),
            sent=sent,
            elapsed_ms=elapsed_ms,
        )

    def _failure(
        self, handle: CurlHandle, sending: _Sending, code: int, message: str
    ) -> tuple[FailureKind, str]:
        """Why there is no answer."""
        if handle.stopped:
            return handle.stopped, _STOPPED.get(handle.stopped, message)
        if handle.body.fault:
            return FailureKind.BAD_ENCODING, handle.body.fault
        if code == pycurl.E_OPERATION_TIMEDOUT:
            if handle.asked_at:
                return FailureKind.TOTAL_TIMEOUT, message
            self._resolver.demote(sending.target.host, sending.address)
            return FailureKind.CONNECT_TIMEOUT, message
        if code == pycurl.E_COULDNT_CONNECT:
            self._resolver.demote(sending.target.host, sending.address)
            if connect_timed_out(handle.curl.getinfo(pycurl.OS_ERRNO)):
                return FailureKind.CONNECT_TIMEOUT, message
        if not code:
            return FailureKind.MALFORMED_RESPONSE, "no final answer"
        return kind_of(code, message, proxied=bool(sending.proxy)), message

    def _handle(self) -> CurlHandle:
        handle = CurlHandle(self._limits, self._monotonic)
        curl = handle.curl
        curl.setopt(pycurl.SHARE, self._share)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.MAXCONNECTS, 1)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _milliseconds(self._limits.connect))
        curl.setopt(pycurl.TIMEOUT_MS, _milliseconds(self._limits.total))
        curl.setopt(
            pycurl.HTTP_VERSION,
            pycurl.CURL_HTTP_VERSION_2TLS if self._http2 else pycurl.CURL_HTTP_VERSION_1_1,
        )
        curl.setopt(pycurl.SSL_VERIFYPEER, 1 if self._verify else 0)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if self._verify else 0)
        if self._authorities.folder:
            curl.setopt(pycurl.CAPATH, self._authorities.folder)
        else:
            curl.setopt(pycurl.CAINFO, self._authorities.file)
        return handle


_STOPPED = {
    FailureKind.DISCONNECTED: "the server closed the kept connection",
    FailureKind.HEADERS_TOO_LARGE: "the header is too large",
    FailureKind.FIRST_BYTE_TIMEOUT: "no byte of an answer in time",
    FailureKind.LOW_SPEED: "the answer comes too slowly",
}


def _line(name: str, value: str) -> bytes:
    # libcurl sends an empty header only where it ends so
    return (f"{name}: {value}" if value else f"{name};").encode("latin-1", "replace")


def _milliseconds(seconds: float) -> int:
    return max(1, min(round(seconds * 1000), 2**31 - 1))
