"""Requests over urllib3. Redirects are not followed, so that a key goes nowhere else; proxies of
the environment are not asked, as services are mostly on loopback or in the house."""

from __future__ import annotations

import re
import threading
from contextlib import suppress

import urllib3
from urllib3 import exceptions
from urllib3.util import Timeout

from crawl.clock import Clock
from crawl.errors import ServiceFault
from crawl.printable import one_line
from crawl.service.client.effects import Open, Send, Unanswered
from crawl.service.client.requests import Answer
from crawl.version import __version__

MOST_BYTES = 256 << 20
"""Of one answer."""
_MOST_OF_A_COMPLAINT = 1 << 16
_BLOCK = 1 << 16
_LONGEST_CONNECT_S = 10.0
_FAILED_OBJECT = re.compile(r"^\w+\(host='[^']*', port=\d+\): ", re.ASCII)


class HttpTransport:
    """Sends what the calls ask for; threads may share it."""

    def __init__(
        self,
        address: str,
        key: str | None,
        clock: Clock,
        *,
        connections: int,
        silence_seconds: float,
    ) -> None:
        """`silence_seconds`: after so long without a byte a stream counts as broken."""
        self._address = address
        self._clock = clock
        self._silence_seconds = silence_seconds
        # whole answers come as they are: one that unfolds a thousandfold is not for a client
        self._headers = {
            "User-Agent": f"nutria-client/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._pool = urllib3.PoolManager(num_pools=2, maxsize=connections, retries=False)

    def send(self, effect: Send) -> Answer:
        """One attempt; raises Unanswered."""
        deadline = self._clock.monotonic() + effect.seconds
        response = self._begin(effect, effect.seconds)
        try:
            body = self._whole(response, deadline)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return Answer(response.status, _headers(response), body)

    def open(self, effect: Open) -> HttpStream:
        """The same of an answer that goes on."""
        response = self._begin(effect, self._silence_seconds)
        body = b""
        if not 200 <= response.status < 300:
            with suppress(exceptions.HTTPError, OSError):
                body = response.read(_MOST_OF_A_COMPLAINT)
        return HttpStream(response, Answer(response.status, _headers(response), body))

    def close(self) -> None:
        self._pool.clear()

    def _begin(self, effect: Send | Open, read_seconds: float) -> urllib3.BaseHTTPResponse:
        request = effect.request
        connect_seconds = min(effect.seconds, _LONGEST_CONNECT_S)
        try:
            return self._pool.request(
                request.method,
                self._address + request.path,
                body=request.body,
                headers={**self._headers, **request.headers},
                timeout=Timeout(connect=connect_seconds, read=read_seconds),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except exceptions.SSLError as error:
            raise _unanswered(error, may_have_arrived=False, may_pass=False) from error
        # NewConnectionError is one of a refused connection and of a name that is unknown
        except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
            raise _unanswered(error, may_have_arrived=False) from error
        except (exceptions.LocationValueError, UnicodeError) as error:
            raise _unanswered(error, may_have_arrived=False, may_pass=False) from error
        except (exceptions.HTTPError, OSError) as error:
            raise _unanswered(error, may_have_arrived=True) from error

    def _whole(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        blocks, size = list[bytes](), 0
        try:
            while block := response.read1(_BLOCK):
                blocks.append(block)
                size += len(block)
                if size > MOST_BYTES:
                    raise ServiceFault(f"the service's answer has more than {MOST_BYTES:,} bytes")
                if self._clock.monotonic() > deadline:
                    raise Unanswered("its answer took too long", may_have_arrived=True)
        except (exceptions.HTTPError, OSError) as error:
            raise _unanswered(error, may_have_arrived=True) from error
        return b"".join(blocks)


class HttpStream:
    """An answer that goes on; see `effects.Stream`."""

    def __init__(self, response: urllib3.BaseHTTPResponse, head: Answer) -> None:
        self._response = response
        self._head = head
        self._lock = threading.Lock()
        self._is_read = False
        self._closed = threading.Event()

    @property
    def head(self) -> Answer:
        return self._head

    def read(self) -> bytes:
        with self._lock:
            if self._closed.is_set():
                return b""
            self._is_read = True
        try:
            return self._response.read1(_BLOCK)
        except (exceptions.HTTPError, OSError, ValueError) as error:
            if self._closed.is_set():
                return b""
            raise _unanswered(error, may_have_arrived=True) from error
        finally:
            with self._lock:
                self._is_read = False
                if self._closed.is_set():
                    self._response.close()

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            if not self._is_read:
                self._response.close()
                return
            # the reader closes it; this wakes it
            with suppress(exceptions.HTTPError, OSError, ValueError):
                _shutdown(self._response)


def _shutdown(response: urllib3.BaseHTTPResponse) -> None:
    """Ends what another thread reads. urllib3 can since 2.3; before, a reader sees it only when
    the next bytes come, or at its time-out."""
    if (shutdown := getattr(response, "shutdown", None)) is not None:
        shutdown()


def _headers(response: urllib3.BaseHTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _unanswered(error: Exception, *, may_have_arrived: bool, may_pass: bool = True) -> Unanswered:
    # urllib3 begins with the object that failed, in one of two forms
    text = _FAILED_OBJECT.sub("", str(error).rpartition(">: ")[2])
    return Unanswered(
        one_line(text, 300) or type(error).__name__,
        may_have_arrived=may_have_arrived,
        may_pass=may_pass,
    )
