"""An easy handle of libcurl with its callbacks, and what one transfer leaves in it.

The callbacks are set once and for all: a transfer costs few calls into libcurl.
"""

from __future__ import annotations

from collections.abc import Callable

import pycurl

from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.body import Body
from crawl.plugins.protocol.head import Head, read_head
from crawl.plugins.protocol.limits import Limits

_STOP = -1
_CIPHER = "SSL connection using "


class CurlHandle:
    """Used by one transfer at a time; keeps one connection between them."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self.curl = pycurl.Curl()
        self.key = ""
        """What it last connected to."""
        self.options: dict[int, object] = {}
        """What is set on it, beyond what all transfers share."""
        self.cipher = ""
        """Of the connection it keeps."""
        self._limits = limits
        self._monotonic = monotonic
        self.begin(Body(0), requests=0)
        curl = self.curl
        curl.setopt(pycurl.HEADERFUNCTION, self._header)
        curl.setopt(pycurl.WRITEFUNCTION, self._write)
        curl.setopt(pycurl.XFERINFOFUNCTION, self._progress)
        curl.setopt(pycurl.NOPROGRESS, 0)
        curl.setopt(pycurl.PREREQFUNCTION, self._before_request)
        curl.setopt(pycurl.DEBUGFUNCTION, self._debug)

    def begin(self, body: Body, *, requests: int) -> None:
        """Clears what the last transfer left; at most so many requests may be sent."""
        self.body = body
        self.head: Head | None = None
        self.lines: list[bytes] = []
        self.stopped: FailureKind | None = None
        self.request_head = b""
        self._block_ended = False
        self._requests_left = requests
        self._received = 0
        self.asked_at = 0.0
        """When the request began to be sent; 0 where none was."""
        self._window_from = 0.0
        self._window_received = 0

    def set(self, option: int, value: object) -> None:
        """Sets an option where it is not set so already."""
        if self.options.get(option) != value:
            self.curl.setopt(option, value)
            self.options[option] = value

    def close(self) -> None:
        self.curl.close()

    def _before_request(self, *_connection: object) -> int:
        """libcurl sends again by itself where a kept connection breaks; a server that
        breaks it on purpose would be asked twice without a pause."""
        if self._requests_left <= 0:
            self.stopped = FailureKind.DISCONNECTED
            return int(pycurl.PREREQFUNC_ABORT)
        self._requests_left -= 1
        # nearer to the sending than libcurl's own figure: here a thread may have waited
        self.asked_at = self.asked_at or self._monotonic()
        return int(pycurl.PREREQFUNC_OK)

    def _header(self, line: bytes) -> int | None:
        if not self.asked_at:
            return None  # a proxy's answer to CONNECT
        self._received += len(line)
        if self._received - self.body.wire > self._limits.header:
            self.stopped = FailureKind.HEADERS_TOO_LARGE
            return _STOP
        if self._block_ended:
            if self.body.wire or not line.startswith(b"HTTP/"):
                return None  # a trailer
            self.lines = []  # what came before was provisional, or a challenge
            self.head = None
            self._block_ended = False
        self.lines.append(line)
        if line in (b"\r\n", b"\n"):
            self._block_ended = True
            self.head = read_head(self.lines)
        return None

    def _write(self, data: bytes) -> int | None:
        body, head = self.body, self.head
        if not (body.wire or head is None or body.begin(head.encoding)):
            return _STOP
        self._received += len(data)
        return None if body.write(data) else _STOP

    def _progress(self, *_counts: int) -> int:
        """Called as data arrives, and about once a second while it does not."""
        if not self.asked_at:
            return 0
        limits, now = self._limits, self._monotonic()
        if not self._received:
            if now - self.asked_at > limits.first_byte:
                self.stopped = FailureKind.FIRST_BYTE_TIMEOUT
                return _STOP
        elif not self._window_from:
            self._window_from = now
        elif now - self._window_from > limits.low_speed_time:
            if self._received - self._window_received < limits.low_speed_bytes:
                self.stopped = FailureKind.LOW_SPEED
                return _STOP
            self._window_from, self._window_received = now, self._received
        return 0

    def _debug(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            self.request_head = data
        elif kind == pycurl.INFOTYPE_TEXT and data.startswith(_CIPHER.encode()):
            self.cipher = data.decode("latin-1").removeprefix(_CIPHER).strip()
