"""Answers that go on while something happens: events of finished URLs, and the pages of a site as
they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crawl.errors import UsageError
from crawl.printable import printable
from crawl.service import views
from crawl.service.access import Caller
from crawl.service.api.gate import Refused
from crawl.service.api.handlers import Handlers
from crawl.service.event_filter import EventFilter
from crawl.service.events import EventBus, TooManyListeners, parse_event_id
from crawl.service.site_crawls.values import SiteCrawl
from crawl.service.sse import CONTENT_TYPE, KEEP_ALIVE, retry_frame, sse_bytes, sse_frame
from crawl.service.values import Finished, as_json

_KEEP_ALIVE_S = 15.0
_POLL_S = 0.25
"""So often a crawl is asked for its next page."""
_RETRY_S = 2.0
_NDJSON, _MARKDOWN = "application/x-ndjson", "text/markdown"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Streams:
    """Handlers of streams."""

    handlers: Handlers
    bus: EventBus

    async def events(self, request: Request, caller: Caller) -> Response:
        """Finished URLs as server-sent events; Last-Event-ID goes on where it was."""
        parameters = request.query_params
        wanted = EventFilter(
            hosts=tuple(parameters.getlist("host")),
            crawl=parameters.get("crawl", ""),
            tags=tuple(parameters.getlist("tag")),
        )
        last = None
        if text := request.headers.get("last-event-id"):
            last = parse_event_id(text)
            if last is None:
                raise UsageError("Last-Event-ID: expected an id of an event of this service")
        try:
            listener = self.bus.listen(wanted, last=last)
        except TooManyListeners as error:
            raise Refused(503, "too_many_listeners", str(error), (("Retry-After", "30"),)) from None

        async def frames() -> AsyncIterator[bytes]:
            yield retry_frame(_RETRY_S)
            waiting = asyncio.ensure_future(listener.next())
            try:
                while True:
                    done, _ = await asyncio.wait({waiting}, timeout=_KEEP_ALIVE_S)
                    if not done:
                        yield KEEP_ALIVE
                        continue
                    event = waiting.result()
                    if event is None:
                        return
                    yield sse_bytes(event)
                    waiting = asyncio.ensure_future(listener.next())
            finally:
                waiting.cancel()
                listener.close()

        return StreamingResponse(frames(), media_type=CONTENT_TYPE, headers=_HEADERS)

    async def pages(self, request: Request, caller: Caller) -> Response:
        """The pages of a crawl, from the first on or after Last-Event-ID (or `after`): as
        server-sent events, JSON lines or Markdown, by the header Accept."""
        crawl = await self.handlers.own_crawl(request, caller)
        kind = _accepted(request)
        after = _after(request)
        render = {_NDJSON: _json_line, _MARKDOWN: _markdown, CONTENT_TYPE: _event}[kind]
        with_markdown = "markdown" in crawl.wish.formats
        if kind == _MARKDOWN and not with_markdown:
            raise Refused(406, "not_acceptable", "the crawl was begun without the format markdown")

        async def parts() -> AsyncIterator[bytes]:
            number, idle_s = after, 0.0
            while True:
                # asked for before the pages: those that came until its end are among them
                now = await self._crawl(crawl.id)
                entries = await self._next(crawl.id, number)
                for number, finished in entries:
                    part = render(number, finished, with_markdown)
                    if part:
                        yield part
                if entries:
                    continue
                if now is None or now.state != "running":
                    if kind == CONTENT_TYPE and now is not None:
                        end = as_json(views.crawl_view(now)).decode()
                        yield sse_frame("end", end)
                    return
                await asyncio.sleep(_POLL_S)
                idle_s += _POLL_S
                if kind == CONTENT_TYPE and idle_s >= _KEEP_ALIVE_S:
                    idle_s = 0.0
                    yield KEEP_ALIVE

        return StreamingResponse(parts(), media_type=kind, headers=_HEADERS)

    async def _next(self, crawl_id: str, after: int) -> list[tuple[int, Finished]]:
        crawls = self.handlers.service.crawls
        return await self.handlers.in_thread(lambda: crawls.wait(crawl_id, after, 0.0))

    async def _crawl(self, crawl_id: str) -> SiteCrawl | None:
        crawls = self.handlers.service.crawls
        return await self.handlers.in_thread(lambda: crawls.crawl(crawl_id))


def _accepted(request: Request) -> str:
    accept = request.headers.get("accept", "*/*").lower()
    for kind in (CONTENT_TYPE, _NDJSON, _MARKDOWN):
        if kind in accept:
            return kind
    if "*/*" in accept or "application/json" in accept or "application/*" in accept:
        return _NDJSON
    message = f"expected one of {CONTENT_TYPE}, {_NDJSON} and {_MARKDOWN} in Accept"
    raise Refused(406, "not_acceptable", message)


def _after(request: Request) -> int:
    text = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise UsageError("after, or Last-Event-ID: expected the number of a page")
    return int(text)


def _view(finished: Finished, with_markdown: bool) -> dict[str, Any]:
    return views.finished_view(finished, markdown=with_markdown)


def _event(number: int, finished: Finished, with_markdown: bool) -> bytes:
    data = as_json(_view(finished, with_markdown)).decode()
    return sse_frame("page", data, str(number))


def _json_line(number: int, finished: Finished, with_markdown: bool) -> bytes:
    return as_json({"number": number, **_view(finished, with_markdown)}) + b"\n"


def _markdown(number: int, finished: Finished, with_markdown: bool) -> bytes:
    page = finished.page
    if page is None or not page.is_page or not page.markdown:
        return b""
    title = printable(str(views.card_of(page).get("title") or page.url), 500)
    return f"<!-- {number} {page.url} -->\n\n# {title}\n\n{page.markdown}\n\n---\n\n".encode()
