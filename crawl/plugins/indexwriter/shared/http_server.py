"""Speaks to an index server over HTTP: with a deadline, a bound on the answer, and patience.

pycurl, which the fetcher needs anyway: it alone keeps a deadline over the whole of an exchange,
and the servers' own client libraries would bring nothing that a bulk request needs.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pycurl

from crawl.clock import SystemClock
from crawl.errors import StorageError
from crawl.net.secret_mask import SecretMask
from crawl.plugins.indexwriter.shared.patience import Patience
from crawl.plugins.indexwriter.shared.server_settings import ServerSettings
from crawl.printable import one_line
from crawl.robots.waits import retry_after_seconds

JSON = "application/json"
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may do better soon."""

_CONNECT_SECONDS = 10.0
_MAX_BYTES = 64 << 20
"""Of an answer."""
_SHOWN = 300
"""Characters of what a server says, in a message."""
_MAX_TOLD = 64 << 10
"""Bytes of a body among which those are that a message shows."""
_NO_SECRETS = SecretMask()
_LASTING = frozenset(
    {
        pycurl.E_UNSUPPORTED_PROTOCOL,
        pycurl.E_URL_MALFORMAT,
        pycurl.E_WRITE_ERROR,
        pycurl.E_SSL_CERTPROBLEM,
        pycurl.E_SSL_CACERT,
        pycurl.E_SSL_CACERT_BADFILE,
        pycurl.E_PEER_FAILED_VERIFICATION,
    }
)
"""Faults that no patience helps against."""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a server said."""

    address: str
    status: int
    body: bytes
    retry_after: float | None = None
    mask: SecretMask = _NO_SECRETS

    def json(self) -> dict[str, Any]:
        """The body; raises StorageError where it is no JSON object."""
        content = self._object()
        if content is None:
            raise self.fault("does not answer as expected")
        return content

    def fault(self, what: str) -> StorageError:
        """The server answers what it should not."""
        return StorageError(f"{self.address} {what}: {self.reason()}")

    def reason(self) -> str:
        """The status and the reason of a refusal, in one line that can be looked at."""
        error = (self._object() or {}).get("error")
        if isinstance(error, dict):
            error = error.get("reason") or error.get("msg") or error.get("type")
        text = error if error else self.body[:_MAX_TOLD].decode("utf-8", "replace")
        return f"{self.status} {self.shown(text)}".strip()

    def _object(self) -> dict[str, Any] | None:
        try:
            return msgspec.json.decode(self.body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return None

    def shown(self, text: object) -> str:
        """What the server says, as a message may repeat it: without what it was sent as a
        secret."""
        return one_line(self.mask.masked(str(text)), _SHOWN)


@dataclass(frozen=True, slots=True)
class _Failure:
    """No answer came."""

    address: str
    reason: str
    lasts: bool = False
    retry_after: float | None = None


class HttpServer:
    """A server, or several addresses of one; for one thread."""

    def __init__(self, settings: ServerSettings, patience: Patience | None = None) -> None:
        self._settings = settings
        self._patience = patience or Patience(settings.retry_seconds)
        self._clock = SystemClock()
        self._at = 0
        self._curl: pycurl.Curl | None = None

    @property
    def retries(self) -> int:
        """How often it was waited for."""
        return self._patience.pauses

    def close(self) -> None:
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = JSON,
        *,
        gzipped: bool = False,
        passing: Collection[int] = PASSING,
    ) -> ServerAnswer:
        """The server's answer, whatever it is, as soon as it is none of the `passing` ones; raises
        StorageError where it never comes, or where we are not let in."""
        headers = {"Content-Type": content_type} if body is not None else {}
        if gzipped and body is not None:
            body = gzip.compress(body, 6, mtime=0)
            headers["Content-Encoding"] = "gzip"
        failed = 0
        while True:
            answer = self._once(method, path, body, headers)
            if isinstance(answer, ServerAnswer):
                if answer.status in (401, 403):
                    raise answer.fault("does not let us in")
                if answer.status not in passing:
                    self._patience.renew()
                    return answer
                reason = answer.reason()
            else:
                reason = answer.reason
                if answer.lasts:
                    raise StorageError(f"{answer.address}: {reason}")
            failed += 1
            self._at = (self._at + 1) % len(self._settings.addresses)
            if failed % len(self._settings.addresses):
                continue  # another address may be well
            if not self._patience.pause(answer.retry_after):
                raise self.gives_up(reason, answer.address)

    def gives_up(self, reason: str, address: str = "") -> StorageError:
        """The fault to raise when patience is at its end."""
        address = address or self._settings.addresses[self._at]
        others = len(self._settings.addresses) - 1
        also = f" (and {others} other addresses)" if others else ""
        return StorageError(
            f"{address}{also} cannot be written to: {reason}; given up after"
            f" {self._patience.seconds:g} s (retry_seconds)"
        )

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> ServerAnswer | _Failure:
        address = self._settings.addresses[self._at]
        answer = bytearray()
        retry_after: list[str] = []

        def take(piece: bytes) -> int:
            if len(answer) + len(piece) > _MAX_BYTES:
                return -1  # which ends the exchange
            answer.extend(piece)
            return len(piece)

        def take_header(line: bytes) -> None:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"retry-after":
                retry_after[:] = [value.decode("latin-1").strip()]

        curl = self._prepared(method, address + path, body, headers)
        curl.setopt(pycurl.WRITEFUNCTION, take)
        curl.setopt(pycurl.HEADERFUNCTION, take_header)
        try:
            curl.perform()
        except pycurl.error as error:
            return self._failure(address, error)
        wait = retry_after_seconds(retry_after[0], self._clock.now_ms()) if retry_after else None
        status = curl.getinfo(pycurl.RESPONSE_CODE)
        return ServerAnswer(address, status, bytes(answer), wait, self._settings.mask)

    def _prepared(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> pycurl.Curl:
        settings = self._settings
        curl = self._curl = self._curl or pycurl.Curl()
        curl.reset()  # connections are kept
        lines = [f"{name}: {value}" for name, value in headers.items()]
        # no Expect: it costs a round trip
        lines += ["Accept: application/json", "Expect:"]
        if settings.authorization:
            lines.append(f"Authorization: {settings.authorization}")
        if method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        elif body is not None:
            curl.setopt(pycurl.POST, 1)
            curl.setopt(pycurl.POSTFIELDS, body)
        connect = min(settings.timeout_seconds, _CONNECT_SECONDS)
        for option, value in (
            (pycurl.URL, url),
            (pycurl.HTTPHEADER, lines),
            (pycurl.CUSTOMREQUEST, method),
            (pycurl.TIMEOUT_MS, int(settings.timeout_seconds * 1000)),
            (pycurl.CONNECTTIMEOUT_MS, int(connect * 1000)),
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROXY, ""),  # the server is ours: the environment has no say
            (pycurl.SSL_VERIFYPEER, int(settings.verify)),
            (pycurl.SSL_VERIFYHOST, 2 if settings.verify else 0),
            (pycurl.CAINFO, settings.ca_file or None),
            (pycurl.CAPATH, settings.ca_folder or None),
            (pycurl.SSLCERT, settings.client_cert or None),
            (pycurl.SSLKEY, settings.client_key or None),
        ):
            if value is not None:
                curl.setopt(option, value)
        return curl

    def _failure(self, address: str, error: pycurl.error) -> _Failure:
        code = error.args[0] if error.args else 0
        message = str(error.args[1] if len(error.args) > 1 else error)
        text = one_line(self._settings.mask.masked(message), _SHOWN)
        if code == pycurl.E_OPERATION_TIMEDOUT:
            text = f"no answer within {self._settings.timeout_seconds:g} s ({text})"
        elif code == pycurl.E_WRITE_ERROR:
            text = f"its answer is longer than {_MAX_BYTES >> 20} MiB"
        return _Failure(address, text, code in _LASTING)
