"""The service that the tools of one process ask: its own, or another's.

One process has a crawl's queue. The first `crawl mcp` of a crawl runs the service itself, and
listens on loopback, so that the second (a machine has several agents) asks it there, as it asks a
`crawl serve`. Where that other process ends, whoever comes next takes the service over: what was
acknowledged is in the queue.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from crawl.clock import Clock
from crawl.errors import CrawlError, Locked, ServiceUnreachable
from crawl.service.client.blocking import Client
from crawl.service.client.requests import Request
from crawl.service.mcp.waiting import in_thread

_TIMEOUT_S = 10.0
"""Of a request beside what the service itself waits; agents are told, and try again."""
_CONNECTIONS = 32
_WAIT_S = 15.0
"""So long a process that begins may take to say where it is."""
_LOOK_S = 0.2


class Reach:
    """Finds the service, and finds it again where it went away."""

    def __init__(
        self,
        *,
        key: str | None,
        clock: Clock,
        address_of_other: Callable[[], str | None],
        own: Callable[[], AbstractContextManager[str]] | None,
    ) -> None:
        """`own` runs the service in this process and yields its address; it raises Locked where
        another has it, whose address is asked for then."""
        self._key = key
        self._clock = clock
        self._address_of_other = address_of_other
        self._own = own
        self._stack = ExitStack()
        self._client: Client | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.is_own = False
        """Whether the service is this process."""
        self.address = ""
        """Where it is, once somebody asked for the client."""

    def client(self) -> Client:
        """Who answers now; raises why there is nobody."""
        with self._lock:
            if self._closing.is_set():
                raise ServiceUnreachable("the service has ended")
            if self._client is None:
                self.address = self._address()
                self._client = Client(
                    self.address, key=self._key, timeout=_TIMEOUT_S, connections=_CONNECTIONS
                )
            return self._client

    def lost(self, client: Client) -> None:
        """Says that this one cannot be reached, so that the service is looked for again."""
        with self._lock:
            if self._client is client and not self.is_own:
                client.close()
                self._client = None

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._stack.close()

    def _address(self) -> str:
        deadline = self._clock.monotonic() + _WAIT_S
        while True:
            address, fault = self._own_address()
            address = address or self._address_of_other()
            if address is not None:
                return address
            if self._clock.monotonic() >= deadline or self._closing.wait(_LOOK_S):
                raise fault or ServiceUnreachable("there is no service")

    def _own_address(self) -> tuple[str | None, CrawlError | None]:
        if self._own is None:
            return None, None
        try:
            address = self._stack.enter_context(self._own())
        except Locked as error:
            return None, error
        self.is_own = True
        return address, None


class ReachedService:
    """Asks the service that is reached, with the headers of whoever asked us."""

    def __init__(self, reach: Reach, headers: Mapping[str, str] | None = None) -> None:
        self._reach = reach
        self._headers = headers or {}

    async def __call__(self, request: Request[Any]) -> Any:
        sent = dataclasses.replace(request, headers={**request.headers, **self._headers})
        return await in_thread(lambda: self._send(sent))

    def _send(self, request: Request[Any]) -> Any:
        client = self._reach.client()
        try:
            return client.send(request)
        except ServiceUnreachable:
            self._reach.lost(client)
            if self._reach.is_own or not request.is_idempotent:
                raise
        return self._reach.client().send(request)
