"""Many transfers of libcurl in one thread, driven by epoll.

A thread for each transfer costs more than the transfer: every callback then waits for the
interpreter's lock. Here nobody else wants it.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable

import pycurl

from crawl.interfaces.protocol import Failure, Request, Response
from crawl.plugins.protocol.curl.handle import CurlHandle

_READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}

_FULL_CHECK_SECONDS = 1.0
"""How often all transfers are checked, whatever their sockets do. Of transfers that begin
together libcurl's low-speed check sleeps for all but one until something else has it look at
them. And a connection that gets the descriptor of one just closed, as after a challenge, is
sometimes not reported: epoll knows the old one alone."""

Start = Callable[[Request], CurlHandle | Failure | None]
"""Prepares a handle for a request, or fails at once; None where that might block."""
Finish = Callable[[CurlHandle, int, str], Response | Failure]
"""Makes the response of a handle, from libcurl's code and message."""


class CurlTransfers:
    """Runs many transfers. Used by one thread; only `wake` may be called by others."""

    def __init__(
        self, start: Start, finish: Finish, most_idle: int, monotonic: Callable[[], float]
    ) -> None:
        self._start = start
        self._finish = finish
        self._active: dict[pycurl.Curl, tuple[CurlHandle, object]] = {}
        self._ended: list[tuple[object, Response | Failure]] = []
        self._epoll = select.epoll()
        self._socket_events: dict[int, int] = {}
        """Sockets of active transfers and the events they wait for. Epoll also knows sockets that
        no transfer uses now, for most are used again at once."""
        self._last_used: dict[int, CurlHandle] = {}
        self._monotonic = monotonic
        self._last_full_check_at = 0.0
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._epoll.register(self._wake_reader, select.EPOLLIN)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._socket_changed)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(1, most_idle))

    def begin(self, request: Request, ticket: object) -> bool:
        started = self._start(request)
        if started is None:
            return False
        if isinstance(started, CurlHandle):
            self._active[started.curl] = (started, ticket)
            self._multi.add_handle(started.curl)
        else:
            self._ended.append((ticket, started))
        return True

    def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
        if self._ended:
            seconds = 0.0
        # polled here: a callback would be called twice for every transfer
        until_timeout = self._multi.timeout()
        if until_timeout >= 0:
            look = min(until_timeout / 1000, _FULL_CHECK_SECONDS)
            seconds = look if seconds is None else min(seconds, look)
        has_progressed = False
        for descriptor, event in self._epoll.poll(seconds):
            if descriptor == self._wake_reader:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_reader, 4096)
            elif descriptor in self._socket_events:
                self._multi.socket_action(
                    descriptor, _CURL_EVENTS.get(event) or _curl_events(event)
                )
                has_progressed = True
            else:
                self._connection_closed(descriptor)
        if self._multi.timeout() == 0:
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            has_progressed = True
        if self._active and self._monotonic() - self._last_full_check_at >= _FULL_CHECK_SECONDS:
            self._last_full_check_at = self._monotonic()
            self._multi.perform()
            has_progressed = True
        if has_progressed:
            self._collect_ended()
        ended, self._ended = self._ended, []
        return ended

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_writer, b"!")

    def close(self) -> None:
        for curl in list(self._active):
            self._multi.remove_handle(curl)
        self._active.clear()
        self._multi.close()
        self._epoll.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)
        self._wake_writer = -1

    def _collect_ended(self) -> None:
        remaining = 1
        while remaining:
            remaining, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._end(curl, 0, "")
            for curl, code, message in failed:
                self._end(curl, code, message)

    def _end(self, curl: pycurl.Curl, code: int, message: str) -> None:
        handle, ticket = self._active.pop(curl)
        self._last_used[curl.getinfo(pycurl.ACTIVESOCKET)] = handle
        self._multi.remove_handle(curl)
        self._ended.append((ticket, self._finish(handle, code, message)))

    def _socket_changed(self, action: int, descriptor: int, _multi: object, _data: object) -> None:
        if action == pycurl.POLL_REMOVE:
            if self._socket_events.pop(descriptor, select.EPOLLIN) != select.EPOLLIN:
                with contextlib.suppress(OSError):  # closed by now, it has left by itself
                    self._epoll.modify(descriptor, select.EPOLLIN)  # it can always be written to
            return
        self._socket_events[descriptor] = events = _EVENTS[action]
        try:
            self._epoll.modify(descriptor, events)
        except FileNotFoundError:  # a new one: those that are closed leave by themselves
            self._epoll.register(descriptor, events)

    def _connection_closed(self, descriptor: int) -> None:
        """Notes that the server has closed an idle connection, or has sent what was not asked."""
        try:
            self._epoll.unregister(descriptor)
        except OSError:
            # closed here but still open in a child process: it would be reported for ever
            self._rebuild_epoll()
        handle = self._last_used.pop(descriptor, None)
        if handle is not None:
            handle.is_closed_by_server = True

    def _rebuild_epoll(self) -> None:
        self._epoll.close()
        self._epoll = select.epoll()
        self._epoll.register(self._wake_reader, select.EPOLLIN)
        for descriptor, events in self._socket_events.items():
            with contextlib.suppress(OSError):
                self._epoll.register(descriptor, events)


def _curl_events(event: int) -> int:
    """Epoll's events as libcurl's flags."""
    readable = pycurl.CSELECT_IN if event & _READABLE else 0
    return int(readable | (pycurl.CSELECT_OUT if event & select.EPOLLOUT else 0))


_CURL_EVENTS = {event: _curl_events(event) for event in (select.EPOLLIN, select.EPOLLOUT)}
