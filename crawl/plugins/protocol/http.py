"""protocol http: HTTP/1.1 and HTTP/2 by libcurl, the default.

By pycurl, because it costs a tenth of the CPU of any client written in Python and lets
us pin addresses, see each byte as it comes and stop a transfer at any of them.
"""

from __future__ import annotations

import select
from collections.abc import Callable

import pycurl

from crawl.config import Config
from crawl.interfaces.protocol import (
    Failure,
    FailureKind,
    Request,
    Response,
    Transfers,
    Truncation,
)
from crawl.masking import masked_head
from crawl.net.dns import Resolve, system_addresses
from crawl.plugins.protocol.curl.errors import CONNECT_ERRNO_KINDS, CONNECTION_LOST, failure_kind
from crawl.plugins.protocol.curl.handle import CurlHandle
from crawl.plugins.protocol.curl.pool import CurlPool
from crawl.plugins.protocol.curl.transfers import CurlTransfers
from crawl.plugins.protocol.http_base import (
    SYSTEM,
    HttpBase,
    OutgoingRequest,
    must_resolve_host,
)
from crawl.plugins.protocol.shared.body import is_incomplete_page
from crawl.plugins.protocol.shared.connections import (
    IDLE_TIME,
    MAX_IDLE,
    TLS_CHECK,
    USE_HTTP2,
    certificate_authorities,
)
from crawl.plugins.protocol.shared.target import request_target

_RECEIVED_AT_ONCE = 128 * 1024
"""Most pages in one go; libcurl lends the memory to one transfer after the other."""
_TOO_SLOW = "Operation too slow"
_USUAL = "HTTP/1.1"
_VERSIONS = {1: "HTTP/1.0", 2: "HTTP/1.1", 3: "HTTP/2", 30: "HTTP/3"}


class HttpProtocol(HttpBase):
    """`http`: fetches by libcurl."""

    def __init__(
        self,
        config: Config,
        *,
        resolver: Resolve = system_addresses,
        monotonic: Callable[[], float] = SYSTEM.monotonic,
    ) -> None:
        super().__init__(config, resolver=resolver, monotonic=monotonic)
        self._idle_time = max(1, int(config[IDLE_TIME]))
        self._verify = config[TLS_CHECK]
        self._certificate_authorities = certificate_authorities(config)
        self._http2 = config[USE_HTTP2]
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        self._most_idle = config[MAX_IDLE]
        self._pool = CurlPool(self._handle, self._most_idle)

    def transfers(self) -> Transfers:
        return CurlTransfers(self._start, self._finish, self._most_idle, self.monotonic)

    def send(self, sending: OutgoingRequest) -> Response | Failure:
        handle = self._pool.take(_place(sending))
        try:
            return self._send(handle, sending)
        finally:
            self._pool.give_back(handle)

    def close(self) -> None:
        self._pool.close()

    def _send(self, handle: CurlHandle, sending: OutgoingRequest) -> Response | Failure:
        handle.begin(sending)
        code, message = 0, ""
        try:
            handle.is_broken = _is_readable(handle.socket)
            self._prepare(handle, sending)
            handle.curl.perform()
        except pycurl.error as error:
            code = error.args[0]
            message = handle.curl.errstr() or str(error.args[-1])
        except (ValueError, UnicodeError) as error:  # what libcurl cannot even be told
            return sending.failure(FailureKind.NOT_SUPPORTED, str(error))
        handle.socket = handle.curl.getinfo(pycurl.ACTIVESOCKET)
        return self._answer(handle, code, message)

    def _start(self, request: Request) -> CurlHandle | Failure | None:
        """Sets the request on a handle; None where its host has to be looked up."""
        target = request_target(request.url)
        if target is None or target.server.scheme not in self.schemes:
            return None
        proxy = self.proxy_of(target)
        host = target.server.host
        located = (
            self.resolver.known(host)
            if must_resolve_host(target, proxy)
            else self.resolver.passed_on(host)
        )
        if located is None:
            return None
        sending = self.prepare(request, target, proxy, located)
        if not isinstance(sending, OutgoingRequest):
            return sending
        handle = self._pool.take(_place(sending))
        handle.begin(sending)
        try:
            self._prepare(handle, sending)
        except (pycurl.error, ValueError, UnicodeError) as error:
            self._pool.give_back(handle)
            return sending.failure(FailureKind.NOT_SUPPORTED, str(error))
        return handle

    def _finish(self, handle: CurlHandle, code: int, message: str) -> Response | Failure:
        try:
            return self._answer(handle, code, message)
        finally:
            self._pool.give_back(handle)

    def _prepare(self, handle: CurlHandle, sending: OutgoingRequest) -> None:
        curl, server, login = handle.curl, sending.target.server, sending.digest
        curl.setopt(pycurl.URL, sending.target.plain)
        if handle.headers is not sending.headers:
            handle.headers = sending.headers
            curl.setopt(pycurl.HTTPHEADER, sending.headers.lines)
        place = (handle.key, sending.address)
        if handle.place != place:
            handle.place = place
            # an empty one: none, whatever the environment
            curl.setopt(pycurl.PROXY, sending.proxy)
            bracketed = f"[{sending.address}]" if ":" in sending.address else sending.address
            # whatever libcurl reads as the host: it goes to the judged address
            to = [f"::{bracketed}:{server.port}"] if sending.address else []
            curl.setopt(pycurl.CONNECT_TO, to)
            handle.cipher = ""
        if handle.login is not login:
            handle.login = login
            if login is None:
                curl.unsetopt(pycurl.USERNAME)
                curl.unsetopt(pycurl.PASSWORD)
            else:
                curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_DIGEST)
                curl.setopt(pycurl.USERNAME, login.user)
                curl.setopt(pycurl.PASSWORD, login.secret)
        handle.connect()
        # only what libcurl tells its log says which cipher is in use: it is asked once
        tells = login is not None or (server.scheme == "https" and not handle.cipher)
        if handle.tells != tells:
            handle.tell(tells)

    def _answer(self, handle: CurlHandle, code: int, message: str) -> Response | Failure:
        handle.end()
        curl, head, body, sending = handle.curl, handle.head, handle.body, handle.sending
        sent = handle.asked_at
        elapsed_ms = round(curl.getinfo(pycurl.TOTAL_TIME) * 1000)
        kind: FailureKind | None = None
        if head is None or head.code < 200 or handle.stopped or body.fault:
            kind, message = self._failure(handle, sending, code, message)
        elif code == pycurl.E_OPERATION_TIMEDOUT:
            if message.startswith(_TOO_SLOW):
                kind = FailureKind.LOW_SPEED
            body.truncated = Truncation.TIME
        elif code and not body.truncated:
            kind = failure_kind(code, message, proxied=bool(sending.proxy))
            if kind is FailureKind.DISCONNECTED and code in CONNECTION_LOST:
                kind = None
                body.truncated = Truncation.DISCONNECT
        elif not code:
            body.end()
        if kind is None and head is not None and is_incomplete_page(head.code, body.truncated):
            kind, message = FailureKind.DISCONNECTED, body.broke_off
        if kind is not None or head is None:
            return sending.failure(kind or FailureKind.OTHER, message, sent, elapsed_ms)
        keep = self._idle_time
        if head.keep_seconds is not None:
            keep = min(keep, max(1, head.keep_seconds - 1))
        if handle.keeps_s != keep:
            handle.keep(keep)
        cipher = ""
        if sending.target.server.scheme == "https":
            cipher = handle.cipher
            if not handle.tells and curl.getinfo(pycurl.NUM_CONNECTS):
                handle.cipher = ""  # of a connection before: it is asked for again
        version = head.version
        if version != _USUAL:
            version = _VERSIONS.get(curl.getinfo(pycurl.INFO_HTTP_VERSION), version)
        return Response(
            url=sending.request.url,
            code=head.code,
            headers=head.headers,
            body=body.content(),
            truncated=body.truncated,
            ip=sending.address,
            version=version,
            cipher=cipher,
            request_headers=masked_head(handle.request_head)
            if handle.request_head
            else sending.head(version),
            response_headers=handle.raw_head,
            sent=sent,
            elapsed_ms=elapsed_ms,
        )

    def _failure(
        self, handle: CurlHandle, sending: OutgoingRequest, code: int, message: str
    ) -> tuple[FailureKind, str]:
        """Why there is no answer."""
        if handle.stopped:
            return handle.stopped, _STOPPED.get(handle.stopped, message)
        if handle.body.fault:
            return FailureKind.BAD_ENCODING, handle.body.fault
        if code == pycurl.E_OPERATION_TIMEDOUT:
            if handle.asked_at and message.startswith(_TOO_SLOW):
                slow = FailureKind.LOW_SPEED if handle.answering else FailureKind.FIRST_BYTE_TIMEOUT
                return slow, _STOPPED[slow]
            if handle.asked_at:
                return FailureKind.TOTAL_TIMEOUT, message
            self.resolver.demote(sending.target.server.host, sending.address)
            return FailureKind.CONNECT_TIMEOUT, message
        if code == pycurl.E_COULDNT_CONNECT:
            self.resolver.demote(sending.target.server.host, sending.address)
            known = CONNECT_ERRNO_KINDS.get(handle.curl.getinfo(pycurl.OS_ERRNO))
            if known is not None and not sending.proxy:
                return known, message
        if code == pycurl.E_UNSUPPORTED_PROTOCOL and handle.asked_at:
            return FailureKind.MALFORMED_RESPONSE, message
        if not code and handle.head is None:
            return FailureKind.DISCONNECTED, "the header broke off"
        if not code:
            return FailureKind.MALFORMED_RESPONSE, "no final answer"
        return failure_kind(code, message, proxied=bool(sending.proxy)), message

    def _handle(self) -> CurlHandle:
        handle = CurlHandle(self.limits, self.monotonic)
        curl = handle.curl
        curl.setopt(pycurl.SHARE, self._share)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.MAXCONNECTS, 1)
        curl.setopt(pycurl.BUFFERSIZE, _RECEIVED_AT_ONCE)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _milliseconds(self.limits.connect))
        curl.setopt(pycurl.TIMEOUT_MS, _milliseconds(self.limits.total))
        curl.setopt(
            pycurl.HTTP_VERSION,
            pycurl.CURL_HTTP_VERSION_2TLS if self._http2 else pycurl.CURL_HTTP_VERSION_1_1,
        )
        curl.setopt(pycurl.SSL_VERIFYPEER, 1 if self._verify else 0)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if self._verify else 0)
        if self._certificate_authorities.folder:
            curl.setopt(pycurl.CAPATH, self._certificate_authorities.folder)
            curl.unsetopt(pycurl.CAINFO)  # or each handle reads the whole built-in bundle
        else:
            curl.setopt(pycurl.CAINFO, self._certificate_authorities.file)
        return handle


_STOPPED = {
    FailureKind.STALE_CONNECTION: "the server closed the kept connection",
    FailureKind.HEADERS_TOO_LARGE: "the header is too large",
    FailureKind.FIRST_BYTE_TIMEOUT: "no byte of an answer in time",
    FailureKind.LOW_SPEED: "the answer comes too slowly",
}


def _place(sending: OutgoingRequest) -> str:
    """What a connection for it must be connected to."""
    origin = sending.target.server.origin
    return f"{origin} {sending.proxy}" if sending.proxy else origin


def _is_readable(number: int) -> bool:
    """Whether a socket that nothing is expected from has something to tell: its end."""
    if number < 0:
        return False
    watched = select.poll()
    watched.register(number, select.POLLIN)
    return bool(watched.poll(0))


def _milliseconds(seconds: float) -> int:
    return max(1, min(round(seconds * 1000), 2**31 - 1))
