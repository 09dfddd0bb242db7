"""An easy handle of libcurl with its callbacks, and what one transfer leaves in it.

Each callback waits for the interpreter's lock, for which fifty threads may compete. So there
are as few as possible: header lines go straight into a list, and slow servers are left to
libcurl's own low-speed check wherever it can express our limits.
"""

from __future__ import annotations

from collections.abc import Callable

import pycurl

from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.http_base import OutgoingRequest
from crawl.plugins.protocol.shared.body import Body
from crawl.plugins.protocol.shared.limits import TransferLimits
from crawl.plugins.protocol.shared.response_head import ResponseHead, head_fault, read_head

_STOP = -1
_CIPHER = b"SSL connection using "
_NO_BODY = Body(0)
_ENDS = (b"\r\n", b"\n")
_STATUS = b"HTTP/"


class CurlHandle:
    """Used by one transfer at a time; keeps one connection between them."""

    outgoing: OutgoingRequest
    """The request under way."""
    head: ResponseHead | None = None
    raw_head = b""
    request_head = b""
    """The request head as libcurl has sent it; empty unless `is_verbose`."""
    stopped: FailureKind | None = None
    """Why the transfer was stopped by us."""
    why_withheld = ""
    """Why the request must not be sent any more."""
    sent_at = 0.0
    """When the request began to be sent; 0 where none was."""

    def __init__(self, limits: TransferLimits, monotonic: Callable[[], float]) -> None:
        self.curl = pycurl.Curl()
        self.key = ""
        """Server and proxy that it is connected to."""
        self.configured_for = ("", "")
        """Key and address that its options are set for."""
        self.headers: object = None
        """The request headers that are set on it."""
        self.login: object = None
        """The credentials that are set on it."""
        self.cipher = ""
        """Of the connection it keeps."""
        self.is_verbose = False
        """Whether libcurl logs what it does."""
        self.max_age_seconds = 0
        """How long the connection is kept."""
        self.socket = -1
        """Of the connection it keeps by itself, where it is not one of many transfers."""
        self.is_closed_by_server = False
        """Whether the server has closed the connection; libcurl would notice a second later."""
        self._forces_new_connection = False
        self.body = _NO_BODY
        self._limits = limits
        self._monotonic = monotonic
        self._lines: list[bytes] = []
        curl = self.curl
        curl.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._write)
        curl.setopt(pycurl.PREREQFUNCTION, self._before_request)
        curl.setopt(pycurl.DEBUGFUNCTION, self._debug)
        if limits.watched_in_seconds:
            curl.setopt(pycurl.LOW_SPEED_LIMIT, limits.low_speed)
            curl.setopt(pycurl.LOW_SPEED_TIME, round(limits.low_speed_time))
        else:
            curl.setopt(pycurl.XFERINFOFUNCTION, self._progress)
            curl.setopt(pycurl.NOPROGRESS, 0)

    def begin(self, outgoing: OutgoingRequest) -> None:
        """Clears the handle for the next transfer."""
        self.outgoing = outgoing
        self.body = Body(self._limits.body_of(outgoing.request.max_bytes))
        self.head = self.stopped = None
        self.sent_at = self._window_from = 0.0
        self._window_received = 0
        # a challenge is to be answered
        self._requests_left = 1 if outgoing.digest is None else 2

    def end(self) -> None:
        """Ends the transfer: reads the head where no body has made that necessary."""
        if self.head is None and self.sent_at:
            self._read_head()

    def forget(self) -> None:
        """Frees what the transfer brought: idle handles are many, and bodies large."""
        self.body = _NO_BODY
        self.head = None
        self.raw_head = self.request_head = b""
        self._lines.clear()

    def set_verbose(self, is_verbose: bool) -> None:
        """Switches libcurl's log on or off."""
        self.is_verbose = is_verbose
        self.curl.setopt(pycurl.VERBOSE, int(is_verbose))

    def set_max_age(self, seconds: int) -> None:
        """Sets how old a connection may be that is used again."""
        self.max_age_seconds = seconds
        self.curl.setopt(pycurl.MAXAGE_CONN, seconds)

    def choose_connection(self) -> None:
        """Has the next transfer use the connection that is kept, unless it is broken."""
        if self._forces_new_connection != self.is_closed_by_server:
            self._forces_new_connection = self.is_closed_by_server
            self.curl.setopt(pycurl.FRESH_CONNECT, int(self.is_closed_by_server))
        self.is_closed_by_server = False

    def close(self) -> None:
        self.curl.close()

    @property
    def has_response_begun(self) -> bool:
        """Whether any byte of a response has arrived."""
        return bool(self._lines)

    def _read_head(self) -> ResponseHead | None:
        """Reads the head of the final response; None where there is none."""
        lines = self._lines
        raw = b"".join(lines)
        if len(raw) > self._limits.header:
            self.stopped = FailureKind.HEADERS_TOO_LARGE
            return None
        is_one = lines.count(b"\r\n") + lines.count(b"\n") == 1 and lines[-1] in _ENDS
        if not is_one:
            raw = _last_head(lines)
            if not raw:
                return None
        head = read_head(raw)
        if head_fault(raw, head):
            self.stopped = FailureKind.MALFORMED_RESPONSE
            return None
        self.raw_head = raw
        self.head = head
        return head

    def _before_request(self, *_connection: object) -> int:
        """libcurl sends again by itself where a kept connection breaks; a server that
        breaks it on purpose would be asked twice without a pause."""
        if self._requests_left <= 0:
            self.stopped = FailureKind.STALE_CONNECTION
            return int(pycurl.PREREQFUNC_ABORT)
        why_withheld = self.outgoing.request.why_withheld
        if why_withheld is not None and (reason := why_withheld()):
            self.stopped, self.why_withheld = FailureKind.WITHHELD, reason
            return int(pycurl.PREREQFUNC_ABORT)
        self._requests_left -= 1
        self._lines.clear()  # a proxy's answer to CONNECT
        # nearer to the sending than libcurl's own figure: here a thread may have waited
        self.sent_at = self.sent_at or self._monotonic()
        return _GO_ON

    def _write(self, data: bytes) -> int | None:
        body = self.body
        if self.head is None:
            head = self._read_head()
            if head is None or not body.begin(head.encoding):
                return _STOP
        return None if body.write(data) else _STOP

    def _progress(self, *_counts: int) -> int:
        """Called as data arrives, and about once a second while it does not."""
        if not self.sent_at:
            return 0
        limits, now = self._limits, self._monotonic()
        if not self._lines:
            if now - self.sent_at > limits.first_byte:
                self.stopped = FailureKind.FIRST_BYTE_TIMEOUT
                return _STOP
        elif not self._window_from:
            self._window_from = now
        elif now - self._window_from > limits.low_speed_time:
            received = sum(map(len, self._lines)) + self.body.wire_bytes
            if received - self._window_received < limits.low_speed_bytes:
                self.stopped = FailureKind.LOW_SPEED
                return _STOP
            self._window_from, self._window_received = now, received
        return 0

    def _debug(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            self.request_head = data  # with the answer to a challenge
        elif kind == pycurl.INFOTYPE_TEXT and data.startswith(_CIPHER):
            # version / cipher / key exchange / kind of certificate
            parts = data.removeprefix(_CIPHER).decode("latin-1").split(" / ")
            self.cipher = " / ".join(parts[:2]).strip()


_GO_ON = int(pycurl.PREREQFUNC_OK)


def _last_head(lines: list[bytes]) -> bytes:
    """The last whole head: those before it were provisional, or a challenge, and other
    lines after it are a trailer. Empty where it broke off."""
    heads: list[list[bytes]] = [[]]
    for line in lines:
        heads[-1].append(line)
        if line in _ENDS:
            heads.append([])
    rest = heads.pop()
    if rest and rest[0].startswith(_STATUS):
        return b""
    whole = [head for head in heads if head[0].startswith(_STATUS)]
    return b"".join((whole or heads or [[]])[-1])
