"""Connections under bounds: how many there are, how long and how large a request's head may be, and
how long a client may say nothing. uvicorn has none of these beside the first, which it answers
without a word of when to come back.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any, Final

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from crawl.service.api.http_limits import HttpLimits

MAX_HEAD: Final = 64 << 10
_LINGER_S: Final = 5.0
"""For so long a body is passed over that nobody wants to read, so that whoever sends it may see the
answer."""
_RETRY_AFTER_S: Final = 5
_SILENT_S: Final = 1.0
"""Who has said nothing for so long gives way where all connections are taken: else whoever opens
that many and says nothing keeps everybody else out, those who ask for /healthz among them."""


def bounded_protocol(limits: HttpLimits) -> type[HttpToolsProtocol]:
    """The protocol that a server is given."""
    return type("Bounded", (BoundedConnection,), {"limits": limits})


class BoundedConnection(HttpToolsProtocol):
    """One connection."""

    limits = HttpLimits()

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._head_timer: TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = True
        self._is_in_body = False
        self._requests = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections and not self._has_made_room():
            self.give_way()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        was_in_head, requests = self._is_in_head, self._requests
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # to what we do not speak: the request is answered as it is
        except httptools.HttpParserError:
            self._refuse(400, "bad_http", "this is no request that can be read for certain")
            return
        if self._is_in_head:
            # of a connection that does nothing else, blank lines before a request among it
            if self._head_timer is None and self._is_idle():
                self._await_head()
            if was_in_head and requests == self._requests:
                self._head_bytes += len(data)  # else it had a body, or another request, too
            if self._head_bytes > MAX_HEAD:
                message = f"the head of a request has at most {MAX_HEAD:,} bytes"
                self._refuse(431, "head_too_large", message)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        if self._head_timer is None and self._is_idle():
            self._await_head()

    def on_headers_complete(self) -> None:
        self._forget_head()
        self._is_in_head, self._is_in_body, self._head_bytes = False, True, 0
        self._requests += 1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head, self._is_in_body = True, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_in_body and not self.transport.is_closing():
            self.loop.call_later(_LINGER_S, self._end_of_patience, self.cycle)

    def shutdown(self) -> None:
        self._forget_head()
        super().shutdown()

    def _has_made_room(self) -> bool:
        """Ends the connection that has waited longest for a request of which nothing has come."""
        silent = min(
            (
                each
                for each in self.connections
                if each is not self and isinstance(each, BoundedConnection) and each.is_silent
            ),
            key=lambda each: each.silent_since,
            default=None,
        )
        if silent is None or self.loop.time() - silent.silent_since < _SILENT_S:
            return False
        silent.give_way()
        return True

    @property
    def is_silent(self) -> bool:
        """Whether it has not begun with a request."""
        return self._head_timer is not None and not self._head_bytes and self._is_idle()

    @property
    def silent_since(self) -> float:
        """Of one that is silent, when that began, by the loop's clock."""
        assert self._head_timer is not None
        return self._head_timer.when() - self.limits.timeout_s

    def give_way(self) -> None:
        """Ends it for another."""
        self._refuse(503, "too_many_connections", "too many connections: come back later")

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.timeout_s, self._head_is_late)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        message = f"no request arrived within {self.limits.timeout_s:g}s"
        self._refuse(408, "head_timeout", message)

    def _end_of_patience(self, cycle: object) -> None:
        if self.cycle is cycle and self._is_in_body and not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answers outside of any application, and ends the connection."""
        self._forget_head()
        self.limits.counters[f"api_errors.{code}"] += 1
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if self._is_idle() or not (self.pipeline or cycle.response_started):
            # else another answer is under way
            body = msgspec.json.encode({"error": {"code": code, "message": message}})
            retry = b"retry-after: %d\r\n" % _RETRY_AFTER_S if status == 503 else b""
            self.transport.write(
                STATUS_LINE[status]
                + b"content-type: application/json\r\ncache-control: no-store\r\n"
                + b"x-content-type-options: nosniff\r\nconnection: close\r\n"
                + retry
                + b"content-length: %d\r\n\r\n" % len(body)
                + body
            )
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # what was begun with it has nobody to answer
            cycle.message_event.set()
        self.transport.close()
