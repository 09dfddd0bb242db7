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

_LOOK_AT_ALL_S = 1.0
"""Of transfers that begin together libcurl's watch over slow servers sleeps for all but one
until something else has it look at them. And a connection that gets the number of one just
closed, as after a challenge, is sometimes not told of: epoll knows the old one's alone."""

Start = Callable[[Request], CurlHandle | Failure | None]
"""Sets a request on a handle; or has its answer; or None where that might block."""
Finish = Callable[[CurlHandle, int, str], Response | Failure]
"""The answer that a handle holds, by libcurl's code and its message."""


class CurlTransfers:
    """Used by one thread; only `wake` may be called by others."""

    def __init__(
        self, start: Start, finish: Finish, most_idle: int, monotonic: Callable[[], float]
    ) -> None:
        self._start = start
        self._finish = finish
        self._under_way: dict[pycurl.Curl, tuple[CurlHandle, object]] = {}
        self._ended: list[tuple[object, Response | Failure]] = []
        self._epoll = select.epoll()
        self._watched: dict[int, int] = {}
        """Sockets of transfers, and what is to be told of them. Epoll knows those too that no
        transfer has now, for most are used again at once."""
        self._last_used: dict[int, CurlHandle] = {}
        self._monotonic = monotonic
        self._all_looked_at = 0.0
        self._ear, self._mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._epoll.register(self._ear, select.EPOLLIN)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(1, most_idle))

    def begin(self, request: Request, ticket: object) -> bool:
        started = self._start(request)
        if started is None:
            return False
        if isinstance(started, CurlHandle):
            self._under_way[started.curl] = (started, ticket)
            self._multi.add_handle(started.curl)
        else:
            self._ended.append((ticket, started))
        return True

    def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
        if self._ended:
            seconds = 0.0
        # asked for here: told by a callback it would be told twice for every transfer
        until_look = self._multi.timeout()
        if until_look >= 0:
            look = min(until_look / 1000, _LOOK_AT_ALL_S)
            seconds = look if seconds is None else min(seconds, look)
        moved = False
        for number, event in self._epoll.poll(seconds):
            if number == self._ear:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._ear, 4096)
            elif number in self._watched:
                self._multi.socket_action(number, _MASKS.get(event) or _mask(event))
                moved = True
            else:
                self._closed(number)
        if self._multi.timeout() == 0:
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            moved = True
        if self._under_way and self._monotonic() - self._all_looked_at >= _LOOK_AT_ALL_S:
            self._all_looked_at = self._monotonic()
            self._multi.perform()
            moved = True
        if moved:
            self._gather()
        ended, self._ended = self._ended, []
        return ended

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._mouth, b"!")

    def close(self) -> None:
        for curl in list(self._under_way):
            self._multi.remove_handle(curl)
        self._under_way.clear()
        self._multi.close()
        self._epoll.close()
        os.close(self._ear)
        os.close(self._mouth)
        self._mouth = -1

    def _gather(self) -> None:
        more = 1
        while more:
            more, well, badly = self._multi.info_read()
            for curl in well:
                self._end(curl, 0, "")
            for curl, code, message in badly:
                self._end(curl, code, message)

    def _end(self, curl: pycurl.Curl, code: int, message: str) -> None:
        handle, ticket = self._under_way.pop(curl)
        self._last_used[curl.getinfo(pycurl.ACTIVESOCKET)] = handle
        self._multi.remove_handle(curl)
        self._ended.append((ticket, self._finish(handle, code, message)))

    def _watch(self, what: int, number: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            if self._watched.pop(number, select.EPOLLIN) != select.EPOLLIN:
                with contextlib.suppress(OSError):  # closed by now, it has left by itself
                    self._epoll.modify(number, select.EPOLLIN)  # it can always be written to
            return
        self._watched[number] = events = _EVENTS[what]
        try:
            self._epoll.modify(number, events)
        except FileNotFoundError:  # a new one: those that are closed leave by themselves
            self._epoll.register(number, events)

    def _closed(self, number: int) -> None:
        """The server has closed a connection that is kept, or talks without being asked."""
        try:
            self._epoll.unregister(number)
        except OSError:
            # closed here and open still in a child process: it would be told of for ever
            self._watch_anew()
        handle = self._last_used.pop(number, None)
        if handle is not None:
            handle.is_broken = True

    def _watch_anew(self) -> None:
        self._epoll.close()
        self._epoll = select.epoll()
        self._epoll.register(self._ear, select.EPOLLIN)
        for number, events in self._watched.items():
            with contextlib.suppress(OSError):
                self._epoll.register(number, events)


def _mask(event: int) -> int:
    """What epoll tells of a socket, in libcurl's words."""
    readable = pycurl.CSELECT_IN if event & _READABLE else 0
    return int(readable | (pycurl.CSELECT_OUT if event & select.EPOLLOUT else 0))


_MASKS = {event: _mask(event) for event in (select.EPOLLIN, select.EPOLLOUT)}
