"""The smallest polite fetcher: a task for each host, one request at a time, the delay after each,
robots.txt first. With it the stand-in shows what the benchmark measures of a service that has next
to no overhead of its own, and that its audit finds nothing where there is nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from urllib.parse import urlsplit

from realtime_http import Broken, Connection

_TIMEOUT_S = 4.0
_MOST_HOPS = 8

Done = Callable[[bool], None]
"""Told whether there is a page."""


class PoliteFetcher:
    """Fetches URLs, each through the queue of its host."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._queues: dict[str, deque[tuple[str, int, int, Done]]] = {}
        """Path, port, hops so far and whom to tell, by host."""
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._known: set[str] = set()
        """Hosts whose robots.txt was asked for."""
        self._free_at: dict[str, float] = {}

    def fetch(self, url: str, done: Done, hops: int = 0) -> None:
        """Queues it."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        queue = self._queues.setdefault(host, deque())
        queue.append((parts.path, parts.port or 80, hops, done))
        if host not in self._at_work:
            self._at_work[host] = asyncio.create_task(self._work(host))

    async def _work(self, host: str) -> None:
        queue = self._queues[host]
        while queue:
            path, port, hops, done = queue.popleft()
            if host not in self._known:
                self._known.add(host)
                await self._ask(host, port, "/robots.txt")
            if path.startswith("/private/"):
                done(False)
                continue
            status, location = await self._ask(host, port, path)
            if location and hops < _MOST_HOPS:
                self.fetch(location, done, hops + 1)
            else:
                done(status == 200)
        del self._at_work[host]

    async def _ask(self, host: str, port: int, path: str) -> tuple[int, str]:
        loop = asyncio.get_running_loop()
        if (left := self._free_at.get(host, 0.0) - loop.time()) > 0:
            await asyncio.sleep(left)
        request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: bench\r\n\r\n"
        connection: Connection | None = None
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
                status, headers, _ = await connection.send(request.encode())
            return status, headers.get("location", "")
        except (Broken, OSError):
            return 0, ""
        finally:
            if connection is not None:
                connection.close()
            # a millisecond more, as loops count in these
            self._free_at[host] = loop.time() + self._delay_s + 0.001
