"""What is done for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import UnsetType
from starlette.requests import Request
from starlette.responses import Response

from crawl.errors import NoSnapshot, UsageError
from crawl.hints import install
from crawl.search.answers import SearchOptions
from crawl.service.api import bodies
from crawl.service.api.gate import Gate, Refused, json_response
from crawl.service.callers.access import Caller
from crawl.service.callers.scope import Scope
from crawl.service.intake.admission import MAX_URL
from crawl.service.intake.ids import is_job_id, is_key_of_job
from crawl.service.intake.intake import Submitted
from crawl.service.intake.urls_in_text import urls_in_text
from crawl.service.pages import Resolved
from crawl.service.queues.queue import Entry
from crawl.service.refusals import in_words, reason_of_end, refusal_of
from crawl.service.request_faults import shown
from crawl.service.service import Service
from crawl.service.telling import views
from crawl.service.telling.page_json import page_json
from crawl.service.values import Finished, JobState, job_of

MAX_WAIT_S = 60.0
_THREADS = 8
"""That wait for disks: the loop that serves all requests must not."""
_NULL = msgspec.Raw(b"null")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Handlers:
    """All but streams and webhooks."""

    service: Service
    gate: Gate
    threads: ThreadPoolExecutor

    @classmethod
    def of(cls, service: Service, gate: Gate) -> Handlers:
        return cls(service, gate, ThreadPoolExecutor(_THREADS, "service-api"))

    async def submit(self, request: Request, caller: Caller) -> Response:
        """Takes URLs on: 202 when they are stored; 429 where none could be taken on."""
        submission = bodies.read_body(await self.gate.body(request), bodies.Submission)
        found: tuple[str, ...] = ()
        if not isinstance(submission.text, UnsetType):
            found = tuple(urls_in_text(submission.text, bodies.MAX_URLS).urls)
        wishes = submission.wishes(caller.id, found)
        self.gate.take(caller, Scope.SUBMIT, max(1, len(wishes)))
        submitted = await self.in_thread(lambda: self.service.intake.submit(wishes))
        view = {"jobs": [views.submitted_view(each) for each in submitted]}
        _require_room(submitted, view)
        return json_response(view, 202)

    async def job(self, request: Request, caller: Caller) -> Response:
        """What became of a job; 404 where it is another's, too."""
        job_id = request.path_params["job"]
        self.gate.take(caller, Scope.LOOKUP, 1)
        found = await self.in_thread(lambda: self._job(job_id)) if is_key_of_job(job_id) else None
        if isinstance(found, Finished) and caller.sees(found.wish.owner):
            return json_response(views.finished_view(found))
        if isinstance(found, Entry):
            job = job_of(found.payload)
            if caller.sees(job.wish.owner):
                is_left = self.service.is_left_to_fetch(job.url)
                view = views.job_view(job, found.not_before_ms, is_left_to_fetch=is_left)
                return json_response(view)
        raise Refused(404, "not_found", "there is no such job, or it ended long ago")

    async def url(self, request: Request, caller: Caller) -> Response:
        """What is known of one URL."""
        url = _parameter(request, "url")
        self.gate.take(caller, Scope.LOOKUP, 1)
        markdown = "markdown" in _formats(request)
        (resolved,) = await self._resolved([url], markdown=markdown)
        if resolved == _NULL:
            raise Refused(404, "not_known", "the URL was not fetched yet")
        return json_response(resolved)

    async def lookup(self, request: Request, caller: Caller) -> Response:
        """What is known of some URLs, in their order."""
        asked = bodies.read_body(await self.gate.body(request), bodies.Lookup)
        self.gate.take(caller, Scope.LOOKUP, max(1, len(asked.urls)))
        markdown = "markdown" in asked.formats
        return json_response({"pages": await self._resolved(asked.urls, markdown=markdown)})

    async def fetch(self, request: Request, caller: Caller) -> Response:
        """The page of a URL, waited for; 202 and where to look where it takes longer."""
        wait_s = wait_parameter(request, 5.0)
        assert wait_s is not None
        asked = bodies.read_body(await self.gate.body(request), bodies.Fetch)
        wish, markdown = asked.wish(caller.id), "markdown" in asked.formats
        self.gate.take(caller, Scope.FETCH, 1)
        (submitted,) = await self.in_thread(lambda: self.service.intake.submit([wish]))
        if submitted.answer is not None:
            markdown = wish.wants_markdown
            view = views.resolved_view(submitted.answer, submitted.url, markdown=markdown)
            return json_response(view)
        if submitted.state is JobState.REFUSED:
            _require_room([submitted], None)
            message = f"the URL is not fetched: {in_words(submitted.reason)}"
            raise Refused(422, submitted.reason, message)
        future = await self.in_thread(lambda: self.service.wait_for(submitted.id))
        try:
            finished = await asyncio.wait_for(asyncio.wrap_future(future), wait_s)
        except TimeoutError:
            self.service.waiters.give_up(submitted.id, future)
            is_left = self.service.is_left_to_fetch(submitted.url)
            view = views.waiting_view(submitted, is_left_to_fetch=is_left)
            see = f"/v1/jobs/{submitted.id}"
            return json_response({"job": view, "see": see}, 202, (("Location", see),))
        view = views.finished_view(finished, markdown=markdown)
        if finished.page is None or refusal_of(finished):
            reason = reason_of_end(finished) or "refused"
            message = f"the URL was not fetched: {in_words(reason)}"
            raise Refused(422, reason, message, details=view)
        return json_response(view["page"])

    async def search(self, request: Request, caller: Caller) -> Response:
        """The best pages for a query."""
        query = _parameter(request, "q")
        limit = number_parameter(request, "limit", 10, 1, 100)
        offset = number_parameter(request, "offset", 0, 0, 900)
        self.gate.take(caller, Scope.SEARCH, 1)
        search = self.service.search
        if search is None:
            message = f"there is no search here: {install('search')}"
            raise Refused(501, "no_search", message)
        options = SearchOptions(limit=limit, offset=offset, per_host=search.default_per_host)
        try:
            answer = await self.in_thread(lambda: search.search(query, options))
        except NoSnapshot as error:
            raise Refused(404, "no_index", str(error)) from None
        found = answer.values()
        hits = [{**each, "url": each["url"]} for each in found.pop("results")]
        return json_response({**found, "hits": hits})

    async def start_crawl(self, request: Request, caller: Caller) -> Response:
        """Begins to crawl a site."""
        wish = bodies.read_body(await self.gate.body(request), bodies.SiteWish).wish(caller.id)
        self.gate.take(caller, Scope.CRAWL, 1)
        try:
            crawl = await self.in_thread(lambda: self.service.crawls.start(wish))
        except UsageError as error:
            raise Refused(422, "not_started", str(error)) from None
        see = f"/v1/crawls/{crawl.id}"
        return json_response(views.crawl_view(crawl), 201, (("Location", see),))

    async def crawls(self, request: Request, caller: Caller) -> Response:
        """The crawls of the caller."""
        limit = number_parameter(request, "limit", 100, 1, 1000)
        crawls = await self.in_thread(self.service.crawls.all_crawls)
        own = [each for each in crawls if caller.sees(each.wish.owner)]
        return json_response({"crawls": [views.crawl_view(each) for each in own[-limit:]]})

    async def crawl(self, request: Request, caller: Caller) -> Response:
        """How far a crawl is."""
        return json_response(views.crawl_view(await self.own_crawl(request, caller)))

    async def cancel_crawl(self, request: Request, caller: Caller) -> Response:
        """Ends a crawl, which may have ended before."""
        crawl = await self.own_crawl(request, caller)
        await self.in_thread(lambda: self.service.crawls.cancel(crawl.id))
        return json_response(views.crawl_view(await self.own_crawl(request, caller)))

    async def own_crawl(self, request: Request, caller: Caller) -> Any:
        """The crawl that the path names; 404 where it is another's, too."""
        crawl_id = request.path_params["crawl"]
        crawl = None
        if is_job_id(crawl_id):
            crawl = await self.in_thread(lambda: self.service.crawls.crawl(crawl_id))
        if crawl is None or not caller.sees(crawl.wish.owner):
            raise Refused(404, "not_found", "there is no such crawl")
        return crawl

    async def health(self, request: Request, caller: Caller) -> Response:
        """Whether the process works."""
        if self.service.fault is not None:
            raise Refused(500, "ended", "a part of the service has ended; its log has more")
        return json_response({"status": "ok"})

    async def ready(self, request: Request, caller: Caller) -> Response:
        """Whether requests would be served now."""
        await self.in_thread(self.service.check)
        stats = self.service.stats()
        return json_response(
            {"status": "ready", "waiting": stats.waiting, "claimed": stats.claimed}
        )

    def _job(self, job_id: str) -> Finished | Entry | None:
        """Looked for at its end, in the queue, and at its end again: it may have moved between."""
        answers = self.service.answers
        return answers.get(job_id) or self.service.queue.entry(job_id) or answers.get(job_id)

    async def _resolved(self, texts: Sequence[str], *, markdown: bool) -> list[msgspec.Raw]:
        """The same as `_resolve`. The loop itself looks into an embedded store, which takes less
        time than the way to another thread; it must not wait for a server."""
        if self.service.is_store_embedded:
            return self._resolve(texts, markdown=markdown)
        return await self.in_thread(lambda: self._resolve(texts, markdown=markdown))

    def _resolve(self, texts: Sequence[str], *, markdown: bool) -> list[msgspec.Raw]:
        """What is known of URLs as they were written, as JSON; null where there is nothing. What
        is found under the text as it is was in normal form; of the others it is made first."""
        asked = [text for text in dict.fromkeys(texts) if len(text) <= MAX_URL]
        found = dict(zip(asked, self.service.pages.resolve(asked), strict=True))
        normal: dict[str, str] = {}
        for text in (text for text, resolved in found.items() if resolved is None):
            url = self.service.admission.normal_form(text)
            if url is not None and url != text:
                normal[text] = url
        if normal:
            urls = list(dict.fromkeys(normal.values()))
            known = dict(zip(urls, self.service.pages.resolve(urls), strict=True))
            found |= {text: known[url] for text, url in normal.items()}
        return [_as_json(found.get(text), text, markdown=markdown) for text in texts]

    async def in_thread(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self.threads, function)


def _as_json(resolved: Resolved | None, asked: str, *, markdown: bool) -> msgspec.Raw:
    if resolved is None:
        return _NULL
    return msgspec.Raw(page_json(resolved.page, asked, resolved.hops, markdown=markdown))


def _require_room(submitted: Sequence[Submitted], view: Any) -> None:
    """Raises 429 where all was refused because too much waits."""
    waits = [each.retry_after_s for each in submitted]
    if submitted and all(waits):
        retry = (("Retry-After", str(-int(-max(waits) // 1))),)
        message = "too much waits to be fetched: come back later"
        raise Refused(429, submitted[0].reason, message, retry, details=view)


def _parameter(request: Request, name: str) -> str:
    values = request.query_params.getlist(name)
    if len(values) != 1 or not values[0]:
        raise UsageError(f"expected one parameter {name}")
    if len(values[0]) > bodies.MAX_QUERY:
        raise UsageError(f"{name}: at most {bodies.MAX_QUERY:,} characters")
    return values[0]


def _formats(request: Request) -> frozenset[str]:
    """Those of the parameter, apart by commas or said several times."""
    texts = request.query_params.getlist("formats")
    formats = frozenset(each for text in texts for each in text.split(","))
    if not formats <= {"metadata", "markdown"}:
        given = shown(",".join(texts))
        raise UsageError(f"formats: expected metadata or markdown, or both, got {given}")
    return formats


def number_parameter(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A whole number that an address says, or the default."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
        expected = f"expected a whole number from {least:,} to {most:,}"
        raise UsageError(f"{name}: {expected}, got {shown(text)}")
    return int(text)


def wait_parameter(request: Request, default: float | None) -> float | None:
    """How long the sender is willing to wait for the answer."""
    text = request.query_params.get("wait")
    if text is None:
        return default
    seconds = bodies.age_s(text, "wait")
    assert seconds is not None
    return min(seconds, MAX_WAIT_S)
