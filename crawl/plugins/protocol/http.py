"""protocol http: HTTP/1.1 and HTTP/2 by libcurl, the default.

By pycurl, because it costs a tenth of the CPU of any client written in Python and lets
us pin addresses, see each byte as it comes and stop a transfer at any of them.
"""

from __future__ import annotations

import select

import pycurl

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response, Transfers, Truncation
from crawl.masking import masked_head
from crawl.net.dns import MONOTONIC, Resolve, Timer, system_addresses
from crawl.plugins.protocol.curl.errors import (
    CONNECT_ERRNO_KINDS,
    CONNECTION_LOST,
    failure_kind,
    is_refused_head,
)
from crawl.plugins.protocol.curl.handle import CurlHandle
from crawl.plugins.protocol.curl.lenient import LenientClient
from crawl.plugins.protocol.curl.pool import CurlPool
from crawl.plugins.protocol.curl.transfers import CurlTransfers
from crawl.plugins.protocol.http_base import HttpBase, OutgoingRequest
from crawl.plugins.protocol.shared.connections import (
    IDLE_TIME,
    MAX_IDLE,
    TLS_CHECK,
    USE_HTTP2,
    certificate_authorities,
)
from crawl.plugins.protocol.shared.target import request_target

_RECEIVE_BYTES = 128 * 1024
"""Receive buffer: most pages arrive in one piece; libcurl shares it between transfers."""
_TOO_SLOW = "Operation too slow"
_HTTP_1_1 = "HTTP/1.1"
_VERSIONS = {1: "HTTP/1.0", 2: "HTTP/1.1", 3: "HTTP/2", 30: "HTTP/3"}


class HttpProtocol(HttpBase):
    """`http`: fetches by libcurl."""

    def __init__(
        self, config: Config, *, resolver: Resolve = system_addresses, monotonic: Timer = MONOTONIC
    ) -> None:
        super().__init__(config, resolver=resolver, monotonic=monotonic)
        self._idle_time = max(1, int(config[IDLE_TIME]))
        self._verifies_tls = config[TLS_CHECK]
        self._certificate_authorities = certificate_authorities(config)
        self._http2 = config[USE_HTTP2]
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        self._most_idle = config[MAX_IDLE]
        self._pool = CurlPool(self._handle, self._most_idle)
        self._lenient = LenientClient(lambda: self._lenient_client(config, resolver))

    def transfers(self) -> Transfers:
        return CurlTransfers(self._start, self._finish, self._most_idle, self.monotonic)

    def send(self, outgoing: OutgoingRequest) -> Response | Failure:
        if self._lenient.is_for(outgoing.target.server.origin):
            return self._lenient.send(outgoing)
        handle = self._pool.acquire(_connection_key(outgoing))
        try:
            return self._send(handle, outgoing)
        finally:
            self._pool.release(handle)

    def close(self) -> None:
        self._pool.close()
        self._lenient.close()

    def _lenient_client(self, config: Config, resolver: Resolve) -> HttpBase:
        from crawl.plugins.protocol.http_requests import RequestsProtocol  # few need it

        client = RequestsProtocol(config, resolver=resolver, monotonic=self.monotonic)
        client.resolver = self.resolver
        return client

    def _send(self, handle: CurlHandle, outgoing: OutgoingRequest) -> Response | Failure:
        handle.begin(outgoing)
        code, message = 0, ""
        try:
            handle.is_closed_by_server = _is_readable(handle.socket)
            self._prepare(handle, outgoing)
            handle.curl.perform()
        except pycurl.error as error:
            code = error.args[0]
            message = handle.curl.errstr() or str(error.args[-1])
        except (ValueError, UnicodeError) as error:  # what libcurl cannot even be told
            return outgoing.failure(FailureKind.NOT_SUPPORTED, str(error))
        handle.socket = handle.curl.getinfo(pycurl.ACTIVESOCKET)
        return self._answer(handle, code, message)

    def _start(self, request: Request) -> CurlHandle | Failure | None:
        """Prepares a handle for the request; None where that would block: its host must be
        resolved first, or the lenient client reads its answers."""
        target = request_target(request.url)
        if target is None or target.server.scheme not in self.schemes:
            return None
        if self._lenient.is_for(target.server.origin):
            return None
        proxy, located = self.route(target, self.resolver.locate_cached)
        if located is None:
            return None
        outgoing = self.prepare(request, target, proxy, located)
        if not isinstance(outgoing, OutgoingRequest):
            return outgoing
        handle = self._pool.acquire(_connection_key(outgoing))
        handle.begin(outgoing)
        try:
            self._prepare(handle, outgoing)
        except (pycurl.error, ValueError, UnicodeError) as error:
            self._pool.release(handle)
            return outgoing.failure(FailureKind.NOT_SUPPORTED, str(error))
        return handle

    def _finish(self, handle: CurlHandle, code: int, message: str) -> Response | Failure:
        try:
            return self._answer(handle, code, message)
        finally:
            self._pool.release(handle)

    def _prepare(self, handle: CurlHandle, outgoing: OutgoingRequest) -> None:
        curl, server, login = handle.curl, outgoing.target.server, outgoing.digest
        curl.setopt(pycurl.URL, outgoing.target.url)
        if handle.headers is not outgoing.headers:
            handle.headers = outgoing.headers
            curl.setopt(pycurl.HTTPHEADER, outgoing.headers.lines)
        configured_for = (handle.key, outgoing.address)
        if handle.configured_for != configured_for:
            handle.configured_for = configured_for
            # an empty one: none, whatever the environment
            curl.setopt(pycurl.PROXY, outgoing.proxy)
            bracketed = f"[{outgoing.address}]" if ":" in outgoing.address else outgoing.address
            # whatever libcurl reads as the host: it goes to the judged address
            to = [f"::{bracketed}:{server.port}"] if outgoing.address else []
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
        handle.choose_connection()
        # only libcurl's log says which cipher is in use, so it is switched on until it is known
        is_verbose = login is not None or (server.scheme == "https" and not handle.cipher)
        if handle.is_verbose != is_verbose:
            handle.set_verbose(is_verbose)

    def _answer(self, handle: CurlHandle, code: int, message: str) -> Response | Failure:
        handle.end()
        curl, head, body, outgoing = handle.curl, handle.head, handle.body, handle.outgoing
        sent = handle.sent_at
        elapsed_ms = round(curl.getinfo(pycurl.TOTAL_TIME) * 1000)
        kind: FailureKind | None = None
        if head is None or head.code < 200 or handle.stopped or body.fault:
            kind, message = self._failure(handle, outgoing, code, message)
        elif code == pycurl.E_OPERATION_TIMEDOUT:
            if message.startswith(_TOO_SLOW):
                kind = FailureKind.LOW_SPEED
            body.truncated = Truncation.TIME
        elif code and not body.truncated:
            kind = failure_kind(code, message, proxied=bool(outgoing.proxy))
            if is_refused_head(message) and head.code < 300:
                # a trailer, of which libcurl asks what it asks of a head
                self._lenient.remember(outgoing.target.server.origin)
                kind = FailureKind.REFUSED_HEAD
            elif kind is FailureKind.DISCONNECTED and code in CONNECTION_LOST:
                kind = None
                body.truncated = Truncation.DISCONNECT
        elif not code:
            body.end()
        if head is not None:
            kind, message = body.judged(head.code, kind, message)
        if kind is not None or head is None:
            return outgoing.failure(kind or FailureKind.OTHER, message, sent, elapsed_ms)
        keep = self._idle_time
        if head.keep_seconds is not None:
            keep = min(keep, max(1, head.keep_seconds - 1))
        if handle.max_age_seconds != keep:
            handle.set_max_age(keep)
        info, is_secure = curl.getinfo, outgoing.target.server.scheme == "https"
        connect_ms = round(
            info(pycurl.APPCONNECT_TIME if is_secure else pycurl.CONNECT_TIME) * 1000
        )
        waited_s = info(pycurl.STARTTRANSFER_TIME) - info(pycurl.PRETRANSFER_TIME)
        first_byte_ms = max(0, round(waited_s * 1000))
        cipher = ""
        if is_secure:
            cipher = handle.cipher
            if not handle.is_verbose and curl.getinfo(pycurl.NUM_CONNECTS):
                handle.cipher = ""  # of a connection before: it is asked for again
        version = head.version
        if version != _HTTP_1_1:
            version = _VERSIONS.get(curl.getinfo(pycurl.INFO_HTTP_VERSION), version)
        return Response(
            url=outgoing.request.url,
            code=head.code,
            headers=head.headers,
            body=body.content(),
            truncated=body.truncated,
            ip=outgoing.address,
            version=version,
            cipher=cipher,
            request_headers=masked_head(handle.request_head)
            if handle.request_head
            else outgoing.head(version),
            response_headers=handle.raw_head,
            sent=sent,
            elapsed_ms=elapsed_ms,
            dns_ms=outgoing.dns_ms,
            connect_ms=connect_ms,
            first_byte_ms=first_byte_ms,
        )

    def _failure(
        self, handle: CurlHandle, outgoing: OutgoingRequest, code: int, message: str
    ) -> tuple[FailureKind, str]:
        """Why there is no response, and a message."""
        if handle.stopped is FailureKind.WITHHELD:
            return handle.stopped, handle.why_withheld
        if handle.stopped:
            return handle.stopped, _STOP_MESSAGES.get(handle.stopped, message)
        if handle.body.fault:
            return FailureKind.BAD_ENCODING, handle.body.fault
        if code == pycurl.E_OPERATION_TIMEDOUT:
            if handle.sent_at and message.startswith(_TOO_SLOW):
                has_begun = handle.has_response_begun
                slow = FailureKind.LOW_SPEED if has_begun else FailureKind.FIRST_BYTE_TIMEOUT
                return slow, _STOP_MESSAGES[slow]
            if handle.sent_at:
                return FailureKind.TOTAL_TIMEOUT, message
            self.resolver.demote(outgoing.target.server.host, outgoing.address)
            return FailureKind.CONNECT_TIMEOUT, message
        if code == pycurl.E_COULDNT_CONNECT:
            self.resolver.demote(outgoing.target.server.host, outgoing.address)
            kind = CONNECT_ERRNO_KINDS.get(handle.curl.getinfo(pycurl.OS_ERRNO))
            if kind is not None and not outgoing.proxy:
                return kind, message
        if handle.head is None and handle.sent_at and is_refused_head(message):
            self._lenient.remember(outgoing.target.server.origin)
            return FailureKind.REFUSED_HEAD, message
        if code == pycurl.E_UNSUPPORTED_PROTOCOL and handle.sent_at:
            return FailureKind.MALFORMED_RESPONSE, message
        if not code and handle.head is None:
            return FailureKind.DISCONNECTED, "the header broke off"
        if not code:
            return FailureKind.MALFORMED_RESPONSE, "no final answer"
        return failure_kind(code, message, proxied=bool(outgoing.proxy)), message

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
        curl.setopt(pycurl.BUFFERSIZE, _RECEIVE_BYTES)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _milliseconds(self.limits.connect))
        curl.setopt(pycurl.TIMEOUT_MS, _milliseconds(self.limits.total))
        curl.setopt(
            pycurl.HTTP_VERSION,
            pycurl.CURL_HTTP_VERSION_2TLS if self._http2 else pycurl.CURL_HTTP_VERSION_1_1,
        )
        curl.setopt(pycurl.SSL_VERIFYPEER, 1 if self._verifies_tls else 0)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if self._verifies_tls else 0)
        if self._certificate_authorities.folder:
            curl.setopt(pycurl.CAPATH, self._certificate_authorities.folder)
            curl.unsetopt(pycurl.CAINFO)  # or each handle reads the whole built-in bundle
        else:
            curl.setopt(pycurl.CAINFO, self._certificate_authorities.file)
        return handle


_STOP_MESSAGES = {
    FailureKind.STALE_CONNECTION: "the server closed the kept connection",
    FailureKind.HEADERS_TOO_LARGE: "the header is too large",
    FailureKind.MALFORMED_RESPONSE: "the header is not to be believed",
    FailureKind.FIRST_BYTE_TIMEOUT: "no byte of an answer in time",
    FailureKind.LOW_SPEED: "the answer comes too slowly",
}


def _connection_key(outgoing: OutgoingRequest) -> str:
    """What a connection for the request must be connected to."""
    origin = outgoing.target.server.origin
    return f"{origin} {outgoing.proxy}" if outgoing.proxy else origin


def _is_readable(number: int) -> bool:
    """Whether an idle socket is readable, which means that the server has closed it."""
    if number < 0:
        return False
    watched = select.poll()
    watched.register(number, select.POLLIN)
    return bool(watched.poll(0))


def _milliseconds(seconds: float) -> int:
    return max(1, min(round(seconds * 1000), 2**31 - 1))
