"""Sockets that keep to the limits of the transfer they serve.

Timeouts of Python's clients restart with every byte, so a server that sends byte by byte holds
a thread for hours. Here each read waits no longer than what is left of every limit.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.shared.limits import TransferLimits
from crawl.plugins.protocol.shared.response_head import ResponseHead

_SLACK = 1.01
"""A timeout that is longer than it should be by less than this factor is left as it is."""


class Withheld(OSError):
    """The request must not be sent any more; the message says why."""


class TransferWatch:
    """Time and bytes of one transfer, on the thread that runs it."""

    def __init__(
        self,
        limits: TransferLimits,
        monotonic: Callable[[], float],
        why_withheld: Callable[[], str] | None = None,
    ) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._why_withheld = why_withheld
        self.withheld = ""
        """Why the request was not sent, where that was forbidden at the last moment."""
        self.started = monotonic()
        self.first_byte_at = 0.0
        """When the first byte came after the request was sent."""
        self.sent_at = 0.0
        self.request = b""
        self.raw_head = b""
        self.head: ResponseHead | None = None
        """The head of the final response, once it has come."""
        self.expired: FailureKind | None = None
        self.is_reused = False
        """Whether the connection has served earlier requests."""
        self._received = 0
        self._window_from = 0.0
        self._window_received = 0

    @property
    def max_head_bytes(self) -> int:
        return self._limits.header

    @property
    def has_response_begun(self) -> bool:
        """Whether any byte of a response has arrived."""
        return self._received > 0

    def now(self) -> float:
        return self._monotonic()

    def note_sent(self, data: bytes) -> None:
        if data.startswith(b"CONNECT "):
            return
        if self._why_withheld is not None and (reason := self._why_withheld()):
            self.withheld = reason
            raise Withheld(reason)
        self.sent_at = self.sent_at or self._monotonic()
        self.request += data[: self._limits.header]
        self._received = 0

    def seconds_left(self) -> float:
        """How long the next read may take; TimeoutError where it may not begin."""
        now = self._monotonic()
        total = self.started + self._limits.total - now
        if self._received:
            patience = self._window_from + self._limits.low_speed_time - now
            kind = FailureKind.LOW_SPEED
        else:
            patience = (self.sent_at or self.started) + self._limits.first_byte - now
            kind = FailureKind.FIRST_BYTE_TIMEOUT
        self.expired = FailureKind.TOTAL_TIMEOUT if total <= patience else kind
        seconds = min(total, patience)
        if seconds <= 0:
            raise TimeoutError(self.expired)
        return seconds

    def note_received(self, count: int) -> None:
        """Counts bytes that have arrived."""
        self.expired = None
        now = self._monotonic()
        if not self._received:
            self._window_from = now
            if self.sent_at:  # not the answer of a proxy, or of a handshake
                self.first_byte_at = now
        self._received += count
        waited = now - self._window_from
        if waited > self._limits.low_speed_time / 2:
            fresh = self._received - self._window_received
            if fresh >= self._limits.low_speed_bytes:
                self._window_from, self._window_received = now, self._received


class _CurrentTransfer(threading.local):
    watch: TransferWatch | None = None


CURRENT = _CurrentTransfer()
"""The watch of the transfer that this thread runs."""


class WatchedSocket(socket.socket):
    """A socket that waits no longer than the watch of its thread allows."""

    def settimeout(self, value: float | None) -> None:
        """urllib3 sets one for each step. Where a watch is kept it knows better, and it needs
        no system call: each hands the interpreter to another thread."""
        if CURRENT.watch is None or self.gettimeout() is None:
            super().settimeout(value)

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        watch = CURRENT.watch
        if watch is None:
            return super().recv_into(buffer, nbytes or 0, flags)
        self._limit_wait(watch.seconds_left())
        count = super().recv_into(buffer, nbytes or 0, flags)
        watch.note_received(count)
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        watch = CURRENT.watch
        if watch is not None:
            watch.note_sent(bytes(data))
            self._limit_wait(watch.seconds_left())
        super().sendall(data, flags)

    def _limit_wait(self, seconds: float) -> None:
        if not seconds <= (self.gettimeout() or 0.0) <= seconds * _SLACK:
            super().settimeout(seconds)


class WatchedSSLSocket(WatchedSocket, ssl.SSLSocket):
    """With TLS. A connection that ends without TLS having said so may have been cut by
    anybody: that is no end of a body (RFC 9112, 9.8), though Python takes it for one."""

    @property
    def suppress_ragged_eofs(self) -> bool:
        return False

    @suppress_ragged_eofs.setter
    def suppress_ragged_eofs(self, value: bool) -> None:
        """Python sets it for every socket."""

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        with suppress(ssl.SSLEOFError):
            return super().recv_into(buffer, nbytes, flags)
        raise ConnectionResetError("TLS ended without saying so")
