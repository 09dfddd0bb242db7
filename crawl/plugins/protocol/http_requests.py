"""protocol http-requests: HTTP/1.1 by requests, for those who know it or cannot have libcurl.

At the level of its adapter: what a session does around that (cookies, redirects, the
environment, authorities read for every connection) is not wanted, and costs the most.
"""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from typing import Any

from requests.auth import HTTPDigestAuth
from requests.utils import parse_dict_header
from urllib3 import disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import Failure, FailureKind, Response, Truncation
from crawl.masking import masked_head
from crawl.net.dns import MONOTONIC, Resolve, Timer, system_addresses
from crawl.plugins.protocol.http_base import HttpBase, OutgoingRequest
from crawl.plugins.protocol.requests_client.adapter import PinnedAdapter, PinnedRequest
from crawl.plugins.protocol.requests_client.errors import TRANSFER_ERRORS, failure_kind
from crawl.plugins.protocol.requests_client.sockets import CURRENT, TransferWatch, WatchedSSLSocket
from crawl.plugins.protocol.shared.body import Body
from crawl.plugins.protocol.shared.connections import (
    IDLE_TIME,
    MAX_IDLE,
    TLS_CHECK,
    certificate_authorities,
)
from crawl.plugins.protocol.shared.response_head import ResponseHead

_PIECE = 64 * 1024


class RequestsProtocol(HttpBase):
    """`http-requests`: fetches by requests."""

    def __init__(
        self, config: Config, *, resolver: Resolve = system_addresses, monotonic: Timer = MONOTONIC
    ) -> None:
        super().__init__(config, resolver=resolver, monotonic=monotonic)
        uses_socks = self._proxy_rules is not None and self._proxy_rules.uses_socks
        if uses_socks and find_spec("socks") is None:
            raise ConfigError(
                "http-requests cannot speak SOCKS without PySocks: install requests[socks],"
                " or use the protocol http"
            )
        self._idle_time = config[IDLE_TIME]
        self._adapter = PinnedAdapter(_context(config), config[MAX_IDLE] or 1, monotonic)

    def close(self) -> None:
        self._adapter.close()

    def send(self, outgoing: OutgoingRequest) -> Response | Failure:
        headers = {"Host": outgoing.target.server.authority, **dict(outgoing.headers.pairs)}
        answer = self._send_once(outgoing, headers)
        if outgoing.digest is None or isinstance(answer, Failure) or answer.code != 401:
            return answer
        authorization = _digest(outgoing, answer.header("WWW-Authenticate"))
        if not authorization:
            return answer
        return self._send_once(outgoing, {**headers, "Authorization": authorization})

    def _send_once(self, outgoing: OutgoingRequest, headers: dict[str, str]) -> Response | Failure:
        watch = TransferWatch(self.limits, self.monotonic, outgoing.request.why_withheld)
        body = Body(self.limits.body_of(outgoing.request.max_bytes))
        transfer = _Transfer(outgoing, watch, body)
        CURRENT.watch = watch
        try:
            proxy = outgoing.proxy
            raw = self._adapter.send(
                PinnedRequest(outgoing, headers),
                stream=True,
                proxies={"http": proxy, "https": proxy} if proxy else None,
                timeout=(min(self.limits.connect, self.limits.total), self.limits.first_byte),
            ).raw
            try:
                transfer.read(raw, self._idle_time)
            finally:
                raw.close() if transfer.broken else raw.release_conn()
        except TRANSFER_ERRORS as error:
            transfer.error = error
        finally:
            CURRENT.watch = None
        answer = transfer.answer(round((self.monotonic() - watch.started) * 1000))
        if isinstance(answer, Failure) and not watch.sent_at and not watch.withheld:
            self.resolver.demote(outgoing.target.server.host, outgoing.address)
        return answer


class _Transfer:
    """One request and its response."""

    def __init__(self, outgoing: OutgoingRequest, watch: TransferWatch, body: Body) -> None:
        self.outgoing = outgoing
        self.watch = watch
        self.body = body
        self.head: ResponseHead | None = None
        self.cipher = ""
        self.error: Exception | None = None
        self.broken = True
        """Whether the connection cannot serve another request."""

    def read(self, raw: Any, idle_time: float) -> None:
        """Reads the body from urllib3's response, whose head has come."""
        watch, body, head = self.watch, self.body, self.watch.head
        if head is None:
            raise ConnectionResetError("no head has come")
        self.head = head
        connection = raw.connection
        self.cipher = _cipher(connection)
        if not body.begin(head.encoding):
            return
        while True:
            data = raw.read1(_PIECE, decode_content=False)
            if not data:
                break
            if not body.write(data):
                return
        body.end()
        self.broken = False
        if connection is not None:
            server_keeps = head.keep_seconds
            keep = idle_time if server_keeps is None else min(idle_time, server_keeps - 1)
            connection.keep_until = watch.now() + keep

    def answer(self, elapsed_ms: int) -> Response | Failure:
        outgoing, watch, body, head = self.outgoing, self.watch, self.body, self.head
        if watch.withheld:
            return outgoing.failure(FailureKind.WITHHELD, watch.withheld, watch.sent_at, elapsed_ms)
        kind, message = self._failure()
        if head is not None:
            kind, message = body.judged(head.code, kind, message)
        if kind is None and head is not None and head.code >= 200:
            return Response(
                url=outgoing.request.url,
                code=head.code,
                headers=head.headers,
                body=body.content(),
                truncated=body.truncated,
                ip=outgoing.address,
                version=head.version,
                cipher=self.cipher,
                request_headers=masked_head(watch.request),
                response_headers=watch.raw_head,
                sent=watch.sent_at,
                elapsed_ms=elapsed_ms,
                dns_ms=outgoing.dns_ms,
                connect_ms=0 if watch.is_reused else _between_ms(watch.started, watch.sent_at),
                first_byte_ms=_between_ms(watch.sent_at, watch.first_byte_at),
            )
        kind = kind or FailureKind.MALFORMED_RESPONSE
        return outgoing.failure(kind, message or "no final answer", watch.sent_at, elapsed_ms)

    def _failure(self) -> tuple[FailureKind | None, str]:
        """Why there is no response; one whose body breaks off is a response."""
        error, expired = self.error, self.watch.expired
        message = " ".join(str(error).split()) if error else ""
        if self.body.fault:
            return FailureKind.BAD_ENCODING, self.body.fault
        if expired is FailureKind.HEADERS_TOO_LARGE:
            return expired, "the header is too large"
        if error is None:
            return None, ""
        if expired is not None and _timed_out(error):
            if expired is FailureKind.TOTAL_TIMEOUT and self.head is not None:
                self.body.truncated = Truncation.TIME
                return None, ""
            if self.watch.sent_at:
                return expired, message
        kind = failure_kind(error)
        if kind is FailureKind.OTHER and not self.watch.sent_at and _timed_out(error):
            return FailureKind.CONNECT_TIMEOUT, message  # in the midst of a handshake
        if kind is FailureKind.DISCONNECTED and self.head is not None:
            self.body.truncated = self.body.truncated or Truncation.DISCONNECT
            return None, ""
        if (
            kind is FailureKind.DISCONNECTED
            and self.watch.is_reused
            and not self.watch.has_response_begun
        ):
            return FailureKind.STALE_CONNECTION, message
        return kind, message


def _between_ms(begun: float, ended: float) -> int | None:
    """None where one of the moments is not known."""
    return round((ended - begun) * 1000) if begun and ended else None


def _timed_out(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, TimeoutError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _cipher(connection: Any) -> str:
    secured = getattr(connection, "sock", None)
    if not isinstance(secured, ssl.SSLSocket):
        return ""
    cipher = secured.cipher()
    return f"{secured.version()} / {cipher[0]}" if cipher else ""


def _digest(outgoing: OutgoingRequest, challenge: str) -> str:
    """The Authorization header for a challenge; empty where it is not a Digest challenge."""
    scheme, _, fields = challenge.partition(" ")
    if outgoing.digest is None or scheme.lower() != "digest":
        return ""
    auth = HTTPDigestAuth(outgoing.digest.user, outgoing.digest.secret)
    auth.init_per_thread_state()
    auth._thread_local.chal = parse_dict_header(fields)
    try:
        return auth.build_digest_header("GET", outgoing.target.url) or ""
    except (KeyError, ValueError):
        return ""


def _context(config: Config) -> ssl.SSLContext:
    trusted = certificate_authorities(config)
    context = ssl.create_default_context(cafile=trusted.file or None, capath=trusted.folder or None)
    context.sslsocket_class = WatchedSSLSocket
    if not config[TLS_CHECK]:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        disable_warnings(InsecureRequestWarning)  # one for every page; it was asked for
    return context
