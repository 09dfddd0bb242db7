"""A pool of handles with open connections, by what they are connected to: whichever thread
fetches from a host next uses the host's connection."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from crawl.plugins.protocol.curl.handle import CurlHandle


class CurlPool:
    """Bounded: the handle that has been idle longest serves a new host, or is closed."""

    def __init__(self, make: Callable[[], CurlHandle], most_idle: int) -> None:
        self._make = make
        self._most_idle = most_idle
        self._lock = threading.Lock()
        self._idle: OrderedDict[CurlHandle, None] = OrderedDict()
        self._by_key: dict[str, list[CurlHandle]] = {}
        self._closed = False

    def acquire(self, key: str) -> CurlHandle:
        """A handle, connected to the key if there is such a one; the caller owns it."""
        with self._lock:
            handles = self._by_key.get(key)
            if handles:
                handle = handles.pop()
                del self._idle[handle]
                return handle
            if len(self._idle) >= self._most_idle and self._idle:
                handle = next(iter(self._idle))
                self._forget(handle)
                handle.key = key
                return handle
        handle = self._make()
        handle.key = key
        return handle

    def release(self, handle: CurlHandle) -> None:
        """Keeps the handle and its connection for the next request."""
        handle.forget()
        with self._lock:
            if not self._closed and len(self._idle) < self._most_idle:
                self._idle[handle] = None
                same = self._by_key.get(handle.key)
                if same is None:
                    self._by_key[handle.key] = [handle]
                else:
                    same.append(handle)
                return
            if not self._by_key.get(handle.key):  # or the keys of all hosts would stay
                self._by_key.pop(handle.key, None)
        handle.close()

    def close(self) -> None:
        """Closes idle handles, and those that are released from now on."""
        with self._lock:
            handles = list(self._idle)
            self._idle.clear()
            self._by_key.clear()
            self._closed = True
        for handle in handles:
            handle.close()

    def _forget(self, handle: CurlHandle) -> None:
        del self._idle[handle]
        same = self._by_key[handle.key]
        same.remove(handle)
        if not same:
            del self._by_key[handle.key]
