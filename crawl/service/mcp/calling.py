"""What each tool does with its arguments: requests of the HTTP interface, whose answers become the
tool's result. Whoever answers them is a `Ask`: the service in this process, or a client of one."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from crawl.errors import ServiceFault
from crawl.service.api.bodies import age_s
from crawl.service.client.requests import Answer, Request
from crawl.service.mcp.arguments import (
    Arguments,
    CrawlCancelArguments,
    CrawlSiteArguments,
    CrawlStatusArguments,
    FetchArguments,
    LookupArguments,
    SearchArguments,
)
from crawl.service.mcp.results import (
    Json,
    ToolResult,
    crawl_result,
    page_result,
    pages_result,
    search_result,
    waiting_result,
)
from crawl.service.mcp.untrusted import Nonce

_JSON = {"Content-Type": "application/json"}
_LINES = {"Accept": "application/x-ndjson"}
_LINES_DECODER = msgspec.json.Decoder(dict[str, Any])
_FIRST_PAGES = 20
_IN_OBJECT = re.compile(r"^(the service: )?(?:scope|limits)\.(?=[a-z])")
_NO_INDEX = "no_index"


class Ask(Protocol):
    """Asks the service; raises ServiceFault for what it refuses."""

    async def __call__(self, request: Request[Any]) -> Any: ...


Call = Callable[[Ask, Arguments, Nonce], Awaitable[ToolResult]]


async def fetch(ask: Ask, given: FetchArguments, nonce: Nonce) -> ToolResult:
    age_s(given.max_age)  # told as a fault of the argument, before anything is asked
    wants_text = given.format == "markdown"
    body = {
        "url": given.url,
        "max_age": given.max_age,
        "formats": ["metadata", "markdown"] if wants_text else ["metadata"],
    }
    path = f"/v1/fetch?wait={given.wait:g}s"
    # what is fetched already is joined, so that a second time does no harm
    said = await ask(_post(path, body, is_idempotent=True, waits_seconds=given.wait))
    if "job" in said and "status" not in said:
        return waiting_result(said["job"], given.url)
    return page_result(said, given.start, given.max_characters, nonce())


async def lookup(ask: Ask, given: LookupArguments, nonce: Nonce) -> ToolResult:
    said = await ask(_post("/v1/lookup", {"urls": given.urls}, is_idempotent=True))
    pages = said.get("pages")
    if not isinstance(pages, list) or len(pages) != len(given.urls):
        raise ServiceFault("the service's answer has not a page for each URL")
    return pages_result(given.urls, pages, nonce())


async def search(ask: Ask, given: SearchArguments, nonce: Nonce) -> ToolResult:
    filters = {
        "site": given.site,
        "lang": given.language,
        "type": given.type,
        "since": given.since,
    }
    words = [given.query, *(f"{name}:{value}" for name, value in filters.items() if value)]
    asked = {"q": " ".join(words), "limit": given.limit, "offset": given.offset}
    try:
        answer = await ask(_get("/v1/search?" + urlencode(asked)))
    except ServiceFault as fault:
        if fault.code != _NO_INDEX:
            raise
        answer = {}  # of a crawl that has just begun: nothing is found, and nothing is wrong
    return search_result(answer, nonce())


async def crawl_site(ask: Ask, given: CrawlSiteArguments, nonce: Nonce) -> ToolResult:
    scope = {
        "hosts": given.hosts,
        "domains": given.domains,
        "prefix": given.prefix,
        "include": given.include,
        "exclude": given.exclude,
    }
    limits = {"pages": given.pages, "depth": given.depth, "seconds": given.seconds}
    body = {
        "seeds": given.seeds,
        "scope": {name: each for name, each in scope.items() if each},
        "limits": {name: each for name, each in limits.items() if each is not None},
        "formats": ["metadata", "markdown"] if given.format == "markdown" else ["metadata"],
    }
    try:
        crawl = await ask(_post("/v1/crawls", body, is_idempotent=False))
    except ServiceFault as fault:
        raise _of_arguments(fault) from None
    return await _crawl(ask, crawl["id"], 0, _FIRST_PAGES, given.wait, given.max_characters, nonce)


def _of_arguments(fault: ServiceFault) -> ServiceFault:
    """The fault by the name of the tool's argument, which in the interface is in an object."""
    return ServiceFault(
        _IN_OBJECT.sub(r"\1", str(fault)),
        status=fault.status,
        code=fault.code,
        details=fault.details,
        retry_after_seconds=fault.retry_after_seconds,
    )


async def crawl_status(ask: Ask, given: CrawlStatusArguments, nonce: Nonce) -> ToolResult:
    return await _crawl(
        ask, given.crawl, given.after, given.limit, given.wait, given.max_characters, nonce
    )


async def crawl_cancel(ask: Ask, given: CrawlCancelArguments, nonce: Nonce) -> ToolResult:
    crawl = await ask(Request("DELETE", f"/v1/crawls/{given.crawl}", _object))
    return crawl_result(crawl, [], 0, nonce())


async def _crawl(
    ask: Ask, crawl_id: str, after: int, limit: int, wait: float, most: int, nonce: Nonce
) -> ToolResult:
    """The pages behind a number, waited for, and how far the crawl is then."""
    asked = urlencode({"after": after, "limit": limit, "wait": f"{wait:g}s"})
    path = f"/v1/crawls/{crawl_id}"
    finished = await ask(
        Request("GET", f"{path}/pages?{asked}", _lines, headers=_LINES, waits_seconds=wait)
    )
    return crawl_result(await ask(_get(path)), finished, most, nonce())


def _get(path: str) -> Request[Json]:
    return Request("GET", path, _object)


def _post(
    path: str, body: Mapping[str, Any], *, is_idempotent: bool, waits_seconds: float = 0.0
) -> Request[Json]:
    content = msgspec.json.encode({name: each for name, each in body.items() if each is not None})
    return Request("POST", path, _object, content, _JSON, is_idempotent, waits_seconds)


def _object(answer: Answer) -> Json:
    said: Json = msgspec.json.decode(answer.body, type=dict[str, Any])
    return said


def _lines(answer: Answer) -> list[Json]:
    lines: list[Json] = _LINES_DECODER.decode_lines(answer.body)
    return lines
