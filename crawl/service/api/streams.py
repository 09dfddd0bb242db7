"""Answers that go on while something happens: events of finished URLs, and the pages of a site as
they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crawl.errors import UsageError
from crawl.printable import printable
from crawl.service.api.gate import Refused
from crawl.service.api.handlers import Handlers, number_parameter, wait_parameter
from crawl.service.api.live_stream import LiveStream
from crawl.service.api.stream_response import StreamResponse
from crawl.service.api.stream_slots import StreamSlots
from crawl.service.callers.access import Caller
from crawl.service.event_filter import EventFilter
from crawl.service.site_crawls.values import SiteCrawl
from crawl.service.telling import views
from crawl.service.telling.events import EventBus, EventId, TooManyListeners, parse_event_id
from crawl.service.telling.sse import CONTENT_TYPE, KEEP_ALIVE, retry_frame, sse_bytes, sse_frame
from crawl.service.values import Finished, as_json

_KEEP_ALIVE_S = 15.0
_LOOK_S = 1.0
"""So often a crawl is looked at whose pages are awaited: that it was cancelled is no event."""
MAX_WORDS, MAX_WORD = 100, 253
"""Of a filter in an address."""
PAGE_NUMBER_PATTERN = "^[0-9]{1,12}$"
MOST_NUMBER = 10**12 - 1
"""Of a page."""
_RETRY_S = 2.0
MOST_PAGES = 10_000_000
"""Of one answer: as many as a crawl may have."""
_EVENTS_AT_ONCE = 100
_NDJSON, _MARKDOWN = "application/x-ndjson", "text/markdown"


@dataclass(frozen=True, slots=True)
class Streams:
    """Handlers of streams."""

    handlers: Handlers
    bus: EventBus
    slots: StreamSlots

    async def events(self, request: Request, caller: Caller) -> Response:
        """Finished URLs as server-sent events; Last-Event-ID goes on where it was."""
        wanted = _filter_of(request)
        text = request.headers.get("last-event-id")
        # one that is none of ours: nobody knows what was missed since
        last = parse_event_id(text) or EventId(0, 0) if text else None
        stream = self._begun(caller, wanted, last)

        async def parts() -> AsyncIterator[bytes]:
            yield retry_frame(_RETRY_S)
            while stream.may_go_on():
                event = await stream.next(_KEEP_ALIVE_S)
                if event is not None:
                    frames = [sse_bytes(each) for each in (event, *stream.more(_EVENTS_AT_ONCE))]
                    yield b"".join(frames)
                elif stream.is_silent_for(_KEEP_ALIVE_S):
                    yield KEEP_ALIVE

        return StreamResponse(parts(), CONTENT_TYPE, stream.close)

    async def pages(self, request: Request, caller: Caller) -> Response:
        """The pages of a crawl, from the first on or after Last-Event-ID (or `after`): as
        server-sent events, JSON lines or Markdown, by the header Accept. It ends before the crawl
        where `limit` pages came, or `wait` is over: for those who cannot read a stream."""
        crawl = await self.handlers.own_crawl(request, caller)
        kind = _accepted(request)
        after = _after(request)
        most = number_parameter(request, "limit", MOST_PAGES, 1, MOST_PAGES)
        wait_s = wait_parameter(request, None)
        render = {_NDJSON: _json_line, _MARKDOWN: _markdown, CONTENT_TYPE: _event}[kind]
        with_markdown = "markdown" in crawl.wish.formats
        if kind == _MARKDOWN and not with_markdown:
            raise Refused(406, "not_acceptable", "the crawl was begun without the format markdown")
        # an event of the crawl is no more than the word that there is a page
        stream = self._begun(caller, EventFilter(crawl=crawl.id), None, wait_s)

        async def parts() -> AsyncIterator[bytes]:
            number, left = after, most
            while True:
                # asked for before the pages: those that came until its end are among them
                now = await self._crawl(crawl.id)
                entries = (await self._next(crawl.id, number))[:left]
                for number, finished in entries:
                    part = render(number, finished, with_markdown)
                    if part:
                        yield part
                left -= len(entries)
                if not left:
                    return
                if entries:
                    continue
                if now is None or now.state != "running":
                    if kind == CONTENT_TYPE and now is not None:
                        end = as_json(views.crawl_view(now)).decode()
                        yield sse_frame("end", end)
                    return
                if not stream.may_go_on():
                    return
                await stream.next(_LOOK_S)
                if kind == CONTENT_TYPE and stream.is_silent_for(_KEEP_ALIVE_S):
                    yield KEEP_ALIVE

        return StreamResponse(parts(), kind, stream.close)

    def _begun(
        self,
        caller: Caller,
        wanted: EventFilter,
        last: EventId | None,
        longest_s: float | None = None,
    ) -> LiveStream:
        """Raises Refused where there are too many."""
        self.slots.require(caller.id)
        owner = None if caller.sees_all else caller.id
        try:
            listener = self.bus.listen(wanted, last=last, owner=owner)
        except TooManyListeners as error:
            raise Refused(503, "too_many_streams", str(error), (("Retry-After", "30"),)) from None
        return LiveStream(listener, caller, self.handlers.gate, self.slots, longest_s)

    async def _next(self, crawl_id: str, after: int) -> list[tuple[int, Finished]]:
        crawls = self.handlers.service.crawls
        return await self.handlers.in_thread(lambda: crawls.wait(crawl_id, after, 0.0))

    async def _crawl(self, crawl_id: str) -> SiteCrawl | None:
        crawls = self.handlers.service.crawls
        return await self.handlers.in_thread(lambda: crawls.crawl(crawl_id))


def _filter_of(request: Request) -> EventFilter:
    parameters = request.query_params
    hosts, tags = parameters.getlist("host"), parameters.getlist("tag")
    crawls = parameters.getlist("crawl")
    for name, words in (("host", hosts), ("tag", tags), ("crawl", crawls)):
        if len(words) > (1 if name == "crawl" else MAX_WORDS):
            raise UsageError(f"{name}: too many of them")
        if any(not word or len(word) > MAX_WORD for word in words):
            raise UsageError(f"{name}: expected from 1 to {MAX_WORD} characters")
    crawl = crawls[0] if crawls else ""
    return EventFilter(hosts=tuple(map(str.lower, hosts)), crawl=crawl, tags=tuple(tags))


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
    given = [*request.headers.getlist("last-event-id"), *request.query_params.getlist("after")]
    for text in given:
        if not (text.isascii() and text.isdecimal() and len(text) <= 12):
            raise UsageError("after, or Last-Event-ID: expected the number of a page")
    if len(given) > 2:
        raise UsageError("after, or Last-Event-ID: more than one")
    return int(given[0]) if given else 0


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
