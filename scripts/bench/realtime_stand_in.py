"""A service that knows no more of the interface of `crawl serve` than the load uses, to learn what
the benchmark itself costs and measures. It fetches nothing and says after a while that it has; with
`--fetch` it fetches as politely as it is simply done, and keeps no content.

    python realtime_stand_in.py [--port N] [--finish-after SECONDS] [--lose SHARE]
    python realtime_stand_in.py --fetch --delay 0.2

prints its port, and ends when its input does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import threading
from functools import partial
from typing import Any, cast

import msgspec
from realtime_http import run_quickly
from realtime_polite import PoliteFetcher


class StandIn:
    """What all connections share."""

    def __init__(self, finish_after_s: float, lose: float, fetcher: PoliteFetcher | None) -> None:
        self.fetcher = fetcher
        self.finish_after_s = finish_after_s
        self.lose = lose
        self.rng = random.Random(1)
        self.known: set[str] = set()
        self.listeners: set[asyncio.Transport] = set()
        self.jobs = 0
        self.events = 0

    def submit(self, urls: list[Any]) -> list[dict[str, Any]]:
        """Takes URLs, of which events tell later."""
        jobs = []
        for each in urls:
            self.jobs += 1
            url = each if isinstance(each, str) else each["url"]
            jobs.append({"id": f"j{self.jobs}", "url": url, "state": "queued"})
        kept = [job for job in jobs if self.rng.random() >= self.lose]
        if self.fetcher is None:
            asyncio.get_running_loop().call_later(self.finish_after_s, self._finish, kept)
            return jobs
        for job in kept:
            self.fetcher.fetch(job["url"], partial(self._finish, [job]))
        return jobs

    def _finish(self, jobs: list[dict[str, Any]], has_page: bool = True) -> None:
        lines = []
        for job in jobs:
            self.events += 1
            page = None
            if has_page:
                self.known.add(job["url"])
                page = {"url": job["url"], "title": "A page", "markdown": "text " * 100}
            data = {"job": job["id"], "url": job["url"], "status": "fetched", "page": page}
            head = b"event: finished\nid: %d\ndata: " % self.events
            lines.append(head + msgspec.json.encode(data) + b"\n\n")
        content = b"".join(lines)
        for each in self.listeners:
            each.write(b"%x\r\n%b\r\n" % (len(content), content))


class Connection(asyncio.Protocol):
    """Answers requests, one after the other."""

    def __init__(self, service: StandIn) -> None:
        self._service = service
        self._content = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are of no class of asyncio
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._service.listeners.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._content += data
        while True:
            head, end, rest = self._content.partition(b"\r\n\r\n")
            if not end:
                return
            size = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    size = int(line[15:])
            if len(rest) < size:
                return
            self._content = rest[size:]
            self._answer(head.split(b" ")[1].decode("latin-1"), rest[:size])

    def _answer(self, path: str, body: bytes) -> None:
        service = self._service
        if path == "/v1/events":
            service.listeners.add(self._transport)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            self._transport.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
            return
        status, said = 200, dict[str, Any]()
        if path == "/v1/urls":
            status, said = 202, {"jobs": service.submit(msgspec.json.decode(body)["urls"])}
        elif path == "/v1/lookup":
            urls = msgspec.json.decode(body)["urls"]
            pages = [
                {"url": url, "title": "A page"} if url in service.known else None for url in urls
            ]
            said = {"pages": pages}
        elif path.startswith("/v1/jobs/"):
            said = {"id": path[9:], "state": "queued"}
        content = msgspec.json.encode(said)
        head = f"HTTP/1.1 {status} OK\r\nContent-Length: {len(content)}\r\n\r\n"
        self._transport.write(head.encode() + content)


async def _serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    fetcher = PoliteFetcher(options.delay) if options.fetch else None
    service, ended = StandIn(options.finish_after, options.lose, fetcher), asyncio.Event()
    server = await loop.create_server(lambda: Connection(service), "127.0.0.1", options.port)
    print(server.sockets[0].getsockname()[1], flush=True)

    def wait() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A service for the benchmark itself.")
    parser.add_argument("--port", type=int, default=0, help="0: one that is free")
    parser.add_argument("--finish-after", type=float, default=0.1, help="seconds (0.1)")
    parser.add_argument("--lose", type=float, default=0.0, help="share of jobs it forgets (0)")
    parser.add_argument("--fetch", action="store_true", help="from the web of the benchmark")
    parser.add_argument("--delay", type=float, default=0.2, help="between two requests (0.2)")
    run_quickly(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
