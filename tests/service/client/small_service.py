"""A service that keeps the contract of the interface, in a thread on loopback: it fetches nothing,
and answers as it is told to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


@dataclass
class SmallService:
    """What it knows, what it was asked, and what goes wrong next."""

    address: str = ""
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What is said of a job, one after the other; the last one again and again."""
    refusals: deque[tuple[int, dict[str, str]]] = field(default_factory=deque)
    """Status and headers of the next answers, before any other is given."""
    waits: str | None = "j9"
    """The job of a page that is not known."""
    asked: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)
    """Method, path with query, headers and body."""
    events: list[dict[str, Any]] = field(default_factory=list)
    """Of `/v1/events`; the id is the place, from 1."""
    per_connection: int = 1_000_000
    """Events after which a connection ends."""
    crawl_state: str = "running"
    crawl_pages: list[dict[str, Any]] = field(default_factory=list)
    tells_the_end: bool = False
    """Whether the stream of a crawl's pages has an event of its own for its end."""
    left: threading.Event = field(default_factory=threading.Event)
    """Somebody who listened has gone."""

    def app(self) -> Starlette:
        routes = [
            Route("/v1/urls", self._submit, methods=["POST"]),
            Route("/v1/jobs/{id}", self._job),
            Route("/v1/url", self._url),
            Route("/v1/lookup", self._lookup, methods=["POST"]),
            Route("/v1/fetch", self._fetch, methods=["POST"]),
            Route("/v1/search", self._search),
            Route("/v1/events", self._events),
            Route("/v1/crawls", self._start, methods=["POST"]),
            Route("/v1/crawls/{id}", self._crawl, methods=["GET", "DELETE"]),
            Route("/v1/crawls/{id}/pages", self._crawl_pages),
        ]
        return Starlette(routes=routes)

    async def _note(self, request: Request) -> tuple[Any, Response | None]:
        body = await request.body()
        said = json.loads(body) if body else None
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.asked.append((request.method, path, dict(request.headers), said))
        if self.refusals:
            status, headers = self.refusals.popleft()
            return said, _fault(status, headers)
        return said, None

    async def _submit(self, request: Request) -> Response:
        said, refused = await self._note(request)
        if refused is not None:
            return refused
        urls = said.get("urls") or [said.get("url")]
        if "text" in said:
            urls = [word for word in said["text"].split() if word.startswith("http")]
        jobs = []
        for each in urls:
            url = each if isinstance(each, str) else each["url"]
            if "bad" in url:
                jobs.append({"id": None, "url": url, "state": "refused", "reason": "filter"})
                continue
            job = {"id": f"j{len(self.jobs)}", "url": url, "state": "queued"}
            self.jobs.setdefault(job["id"], [job])
            jobs.append(job)
        return JSONResponse({"jobs": jobs}, 202)

    async def _job(self, request: Request) -> Response:
        _, refused = await self._note(request)
        said = self.jobs.get(request.path_params["id"])
        if refused is not None or said is None:
            return refused or _fault(404, {})
        return JSONResponse(said.pop(0) if len(said) > 1 else said[0])

    async def _url(self, request: Request) -> Response:
        _, refused = await self._note(request)
        page = self.pages.get(request.query_params["url"])
        return refused or (JSONResponse(page) if page else _fault(404, {}))

    async def _lookup(self, request: Request) -> Response:
        said, refused = await self._note(request)
        if refused is None and len(said["urls"]) > 300:
            refused = _fault(400, {})
        return refused or JSONResponse({"pages": [self.pages.get(each) for each in said["urls"]]})

    async def _fetch(self, request: Request) -> Response:
        said, refused = await self._note(request)
        if refused is not None:
            return refused
        if page := self.pages.get(said["url"]):
            return JSONResponse(page)
        job = {"id": self.waits, "url": said["url"], "state": "queued"}
        return JSONResponse({"job": job, "see": "/v1/jobs/j9"}, 202)

    async def _search(self, request: Request) -> Response:
        _, refused = await self._note(request)
        query, limit = request.query_params["q"], int(request.query_params["limit"])
        found = [page for page in self.pages.values() if query in page.get("title", "")][:limit]
        hits = [{"url": each["url"], "title": each["title"], "score": 1.5} for each in found]
        return refused or JSONResponse({"hits": hits})

    async def _events(self, request: Request) -> Response:
        _, refused = await self._note(request)
        return refused or self._stream(request, "finished", self.events, lambda: False)

    async def _start(self, request: Request) -> Response:
        _, refused = await self._note(request)
        return refused or JSONResponse({"id": "c-1", "state": "running"}, 201)

    async def _crawl(self, request: Request) -> Response:
        _, refused = await self._note(request)
        if refused is not None:
            return refused
        if request.method == "DELETE":
            self.crawl_state = "cancelled"
        said = {"id": "c-1", "state": self.crawl_state, "pages": len(self.crawl_pages)}
        return JSONResponse(said)

    async def _crawl_pages(self, request: Request) -> Response:
        _, refused = await self._note(request)
        is_done = lambda: self.crawl_state != "running"  # noqa: E731
        return refused or self._stream(request, "page", self.crawl_pages, is_done)

    def _stream(self, request: Request, name: str, items: list[Any], is_done: Any) -> Response:
        async def lines() -> AsyncIterator[bytes]:
            sent, place = 0, int(request.headers.get("last-event-id", 0))
            try:
                yield b": hello\n\n"
                while sent < self.per_connection:
                    while len(items) <= place and not is_done():
                        await asyncio.sleep(0.005)
                        if await request.is_disconnected():
                            return
                    if len(items) <= place:
                        if self.tells_the_end:
                            yield b"event: end\ndata: {}\n\n"
                        return
                    if (missed := items[place].get("missed")) is not None:
                        place += 1
                        yield f'event: lagged\ndata: {{"missed": {missed}}}\n\n'.encode()
                        continue
                    data = json.dumps(items[place])
                    place, sent = place + 1, sent + 1
                    yield f"event: {name}\nid: {place}\ndata: {data}\n\n".encode()
            finally:
                self.left.set()

        return StreamingResponse(lines(), media_type="text/event-stream")


def _fault(status: int, headers: dict[str, str]) -> Response:
    code = {404: "not_found", 429: "too_many", 503: "overloaded"}.get(status, "other")
    said = {"code": code, "message": f"so it is\x1b[31m {status}", "details": {"n": 1}}
    return JSONResponse({"error": said}, status, headers)


@contextmanager
def small_service() -> Iterator[SmallService]:
    """The service while the block runs."""
    service = SmallService()
    listening = socket.create_server(("127.0.0.1", 0))
    service.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    config = uvicorn.Config(service.app(), log_level="error", lifespan="off")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
