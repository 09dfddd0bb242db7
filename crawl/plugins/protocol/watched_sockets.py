"""Sockets that keep an eye on the transfer they serve.

Timeouts of Python's clients begin anew with every byte, so a server that drips holds a
thread for hours. Here each read waits no longer than what is left of every limit.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.limits import Limits

_MOST_HEAD_READ = 64 * 1024
"""A read may bring so much of a body along with the end of a head."""


class Watch:
    """The time and the bytes of one transfer, on the thread that makes it."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self.started = monotonic()
        self.sent_at = 0.0
        self.request = b""
        self.head = b""
        """What has been received until the head ended, and maybe a little more."""
        self.reading_head = True
        self.expired: FailureKind | None = None
        self._received = 0
        self._window_from = 0.0
        self._window_received = 0

    @property
    def most_head(self) -> int:
        return self._limits.header

    def now(self) -> float:
        return self._monotonic()

    def sending(self, data: bytes) -> None:
        if data.startswith(b"CONNECT "):
            return
        self.sent_at = self.sent_at or self._monotonic()
        self.request += data[: self._limits.header]
        self.head = b""
        self._received = 0

    def wait(self) -> float:
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
        left = min(total, patience)
        if left <= 0:
            raise TimeoutError(self.expired)
        return left

    def received(self, data: memoryview) -> None:
        """Took bytes; TimeoutError where they were too few, or a head is too large."""
        self.expired = None
        now = self._monotonic()
        if not self._received:
            self._window_from = now
        self._received += len(data)
        if self.reading_head:
            self.head += bytes(data)
            if len(self.head) > self._limits.header + _MOST_HEAD_READ:
                self.expired = FailureKind.HEADERS_TOO_LARGE
                raise TimeoutError(self.expired)
        waited = now - self._window_from
        if waited > self._limits.low_speed_time / 2:
            fresh = self._received - self._window_received
            if fresh >= self._limits.low_speed_bytes:
                self._window_from, self._window_received = now, self._received


class _Current(threading.local):
    watch: Watch | None = None


CURRENT = _Current()
"""The watch of the transfer that this thread makes."""


class WatchedSocket(socket.socket):
    """Plain."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        watch = CURRENT.watch
        if watch is None:
            return super().recv_into(buffer, nbytes, flags)
        self.settimeout(watch.wait())
        count = super().recv_into(buffer, nbytes, flags)
        watch.received(memoryview(buffer)[:count])
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        if CURRENT.watch is not None:
            CURRENT.watch.sending(bytes(data))
        super().sendall(data, flags)


class WatchedSSLSocket(ssl.SSLSocket):
    """With TLS."""

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        watch = CURRENT.watch
        if watch is None:
            return super().recv_into(buffer, nbytes, flags)
        self.settimeout(watch.wait())
        count = super().recv_into(buffer, nbytes, flags)
        watch.received(memoryview(buffer)[:count])
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        if CURRENT.watch is not None:
            CURRENT.watch.sending(bytes(data))
        super().sendall(data, flags)
