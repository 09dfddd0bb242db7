"""One attempt to deliver: a POST by libcurl to an address that was judged right before.

No redirect is followed, for its target was never registered, and no proxy of the environment
is asked. Of the answer its code counts, and four kilobytes of the body are read so that the
connection may be used again; one that goes on is broken off.
"""

from __future__ import annotations

import ssl
import threading
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

import certifi
import pycurl

from crawl.clock import Clock
from crawl.printable import one_line
from crawl.service.callers.settings_access import WebhookSettings
from crawl.service.webhooks.endpoint import Endpoint, EndpointRefused, EndpointRules
from crawl.service.webhooks.signing import signature
from crawl.service.webhooks.values import Delivery, Webhook
from crawl.version import __version__

MAX_ANSWER: Final = 4_096
_MAX_HEAD: Final = 64 * 1024
_MAX_MESSAGE: Final = 200
_STOP: Final = -1


class SendResult(StrEnum):
    """What became of an attempt."""

    DELIVERED = "delivered"
    GONE = "gone"
    """410: the endpoint wants no more."""
    REDIRECTED = "redirected"
    REFUSED = "status"
    """Another code that is not 2xx."""
    ADDRESS = "address_refused"
    NO_HOST = "unknown_host"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"
    STOPPED = "stopped"
    """By us, as the service ends: this was no attempt."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """How an attempt ended."""

    result: SendResult
    status: int = 0
    message: str = ""
    retry_after_seconds: float | None = None


class Sender(Protocol):
    """Makes one attempt; never raises for what an endpoint does."""

    def send(self, webhook: Webhook, delivery: Delivery) -> SendOutcome: ...

    def stop(self) -> None:
        """Breaks off what is under way."""
        ...


class CurlSender:
    """Safe to use from many threads, each of which keeps connections of its own."""

    def __init__(self, settings: WebhookSettings, rules: EndpointRules, clock: Clock) -> None:
        self._settings = settings
        self._rules = rules
        self._clock = clock
        self._of_thread = threading.local()
        self._is_stopped = threading.Event()
        folder = ssl.get_default_verify_paths().capath
        has_any = folder and any(Path(folder).glob("*.0"))
        self._ca_folder = folder if has_any else ""

    def send(self, webhook: Webhook, delivery: Delivery) -> SendOutcome:
        try:
            endpoint = self._rules.read(webhook.url)
            addresses = self._rules.addresses(endpoint)
        except EndpointRefused as error:
            return SendOutcome(SendResult.ADDRESS, message=one_line(str(error), _MAX_MESSAGE))
        except (OSError, UnicodeError) as error:
            return SendOutcome(SendResult.NO_HOST, message=one_line(str(error), _MAX_MESSAGE))
        address = addresses[delivery.attempts % len(addresses)]
        return self._post(webhook, delivery, endpoint, address)

    def stop(self) -> None:
        self._is_stopped.set()

    def _post(
        self, webhook: Webhook, delivery: Delivery, endpoint: Endpoint, address: str
    ) -> SendOutcome:
        curl = self._handle()
        answer = _Answer()
        timestamp = self._clock.now_ms() // 1000
        bracketed = f"[{address}]" if ":" in address else address
        curl.setopt(pycurl.URL, endpoint.url)
        # whatever libcurl reads as the host: it goes to the judged address
        curl.setopt(pycurl.CONNECT_TO, [f"::{bracketed}:{endpoint.port}"])
        curl.setopt(pycurl.POST, 1)
        curl.setopt(pycurl.POSTFIELDS, delivery.body)  # and its size
        curl.setopt(
            pycurl.HTTPHEADER,
            [
                "Content-Type: application/json",
                f"User-Agent: nutria-webhooks/{__version__}",
                "Expect:",  # the body is sent at once
                f"webhook-id: {delivery.id}",
                f"webhook-timestamp: {timestamp}",
                "webhook-signature: "
                + signature(webhook.secret, delivery.id, timestamp, delivery.body),
            ],
        )
        curl.setopt(pycurl.HEADERFUNCTION, answer.head_line)
        curl.setopt(pycurl.WRITEFUNCTION, answer.write)
        code, message = 0, ""
        try:
            curl.perform()
        except pycurl.error as error:
            code, message = error.args[0], curl.errstr() or str(error.args[-1])
        return self._outcome(answer, code, message)

    def _outcome(self, answer: _Answer, code: int, message: str) -> SendOutcome:
        status = answer.status
        if answer.is_whole_head:
            return SendOutcome(
                _result_of(status),
                status,
                f"answered {status}",
                _retry_after(answer.retry_after, self._clock),
            )
        if code == pycurl.E_ABORTED_BY_CALLBACK and self._is_stopped.is_set():
            return SendOutcome(SendResult.STOPPED)
        if not code:
            return SendOutcome(SendResult.DISCONNECTED, message="the header broke off")
        result = _RESULTS.get(code, SendResult.OTHER)
        return SendOutcome(result, message=one_line(message, _MAX_MESSAGE))

    def _handle(self) -> pycurl.Curl:
        curl: pycurl.Curl | None = getattr(self._of_thread, "curl", None)
        if curl is None:
            curl = self._of_thread.curl = pycurl.Curl()
        curl.reset()  # keeps its connections
        settings = self._settings
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.MAXCONNECTS, 4)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _milliseconds(settings.connect_timeout_s))
        curl.setopt(pycurl.TIMEOUT_MS, _milliseconds(settings.timeout_s))
        curl.setopt(pycurl.SSL_VERIFYPEER, 1)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2)
        if self._ca_folder:
            curl.setopt(pycurl.CAPATH, self._ca_folder)
            curl.unsetopt(pycurl.CAINFO)
        else:
            curl.setopt(pycurl.CAINFO, certifi.where())
        curl.setopt(pycurl.NOPROGRESS, 0)
        curl.setopt(pycurl.XFERINFOFUNCTION, self._progress)
        return curl

    def _progress(self, *_counts: int) -> int:
        return _STOP if self._is_stopped.is_set() else 0


class _Answer:
    """What comes back, as far as anybody reads it."""

    def __init__(self) -> None:
        self.status = 0
        self.is_whole_head = False
        self.retry_after = ""
        self._head_bytes = self._body_bytes = 0

    def head_line(self, line: bytes) -> int | None:
        self._head_bytes += len(line)
        if self._head_bytes > _MAX_HEAD:
            return _STOP
        if self.is_whole_head:
            return None  # a trailer
        if line.startswith(b"HTTP/"):
            code = line.split(b" ", 2)[1:2]
            self.status = int(code[0]) if code and code[0].strip().isdigit() else 0
        elif not line.strip():
            self.is_whole_head = self.status >= 200  # others are provisional
        elif line[:12].lower() == b"retry-after:":
            self.retry_after = line[12:].strip().decode("latin-1")
        return None

    def write(self, data: bytes) -> int | None:
        self._body_bytes += len(data)
        return _STOP if self._body_bytes > MAX_ANSWER else None


def _result_of(status: int) -> SendResult:
    if 200 <= status < 300:
        return SendResult.DELIVERED
    if status == 410:
        return SendResult.GONE
    return SendResult.REDIRECTED if 300 <= status < 400 else SendResult.REFUSED


def _retry_after(value: str, clock: Clock) -> float | None:
    """Seconds that the endpoint asks for, by number or by date; None where it says neither."""
    if value.isascii() and value.isdigit() and len(value) <= 9:
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        seconds = moment.timestamp() - clock.now_ms() / 1000
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, seconds)


def _milliseconds(seconds: float) -> int:
    return max(1, min(round(seconds * 1000), 2**31 - 1))


_RESULTS: Final = {
    pycurl.E_COULDNT_CONNECT: SendResult.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: SendResult.TIMEOUT,
    pycurl.E_PARTIAL_FILE: SendResult.DISCONNECTED,
    pycurl.E_GOT_NOTHING: SendResult.DISCONNECTED,
    pycurl.E_SEND_ERROR: SendResult.DISCONNECTED,
    pycurl.E_RECV_ERROR: SendResult.DISCONNECTED,
    pycurl.E_SSL_CONNECT_ERROR: SendResult.TLS,
    pycurl.E_SSL_CERTPROBLEM: SendResult.TLS,
    pycurl.E_SSL_CIPHER: SendResult.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: SendResult.TLS,
    pycurl.E_SSL_CACERT_BADFILE: SendResult.TLS,
    pycurl.E_SSL_ISSUER_ERROR: SendResult.TLS,
}
