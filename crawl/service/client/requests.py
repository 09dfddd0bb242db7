"""Every request of the interface, and what its answer means; no network here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from crawl.errors import NotFetchedYet, ServiceFault, UsageError
from crawl.printable import one_line
from crawl.service.client.results import CrawlStatus, Job, Page, SearchHit, as_value

Result = TypeVar("Result")

MOST_OF_A_LOOKUP = 300
"""URLs that a service answers at once."""
_SHOWN = 500
"""Characters of a service's words that a fault repeats."""
_PRIORITIES = ("high", "normal", "low")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters."""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Request(Generic[Result]):
    """What is sent, and how its answer is read."""

    method: str
    path: str
    """With its query."""
    read: Callable[[Answer], Result]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_idempotent: bool = True
    """Whether it does no harm twice, so that it may be sent again where nobody knows whether it
    arrived."""
    waits_seconds: float = 0.0
    """How long the service itself may wait before it answers."""


def submit(
    urls: Sequence[str | Mapping[str, Any]] | None,
    text: str | None,
    priority: str | None,
    max_age: float | str | None,
    tags: Iterable[str] | None,
    formats: Iterable[str] | None,
    image: bool | None,
) -> Request[list[Job]]:
    if (urls is None) == (text is None):
        raise UsageError("submit: expected URLs, or a text that has some")
    if priority is not None and priority not in _PRIORITIES:
        raise UsageError(f"priority: expected one of {', '.join(_PRIORITIES)}, got {priority!r}")
    body = {
        "urls": None if urls is None else list(urls),
        "text": text,
        "priority": priority,
        "max_age": _checked_age(max_age),
        "tags": None if tags is None else list(tags),
        "formats": _checked_formats(formats),
        "image": image,
    }
    return _post("/v1/urls", body, lambda answer: _list(answer, "jobs", Job), is_idempotent=False)


def job(job_id: str) -> Request[Job]:
    _require_text(job_id, "job: expected the id of a job")
    return _get(f"/v1/jobs/{quote(job_id, safe='')}", lambda answer: _one(answer, Job))


def url(asked: str, formats: Iterable[str] | None) -> Request[Page | None]:
    _require_text(asked, "url: expected a URL")

    def read(answer: Answer) -> Page | None:
        return None if answer.status == 404 else _one(answer, Page)

    named = _checked_formats(formats)
    query = {"url": asked} | ({} if named is None else {"formats": ",".join(named)})
    return _get("/v1/url?" + urlencode(query), read)


def lookup(urls: Sequence[str], formats: Iterable[str] | None) -> Request[list[Page | None]]:
    def read(answer: Answer) -> list[Page | None]:
        said = _said(answer).get("pages")
        if not isinstance(said, list) or len(said) != len(urls):
            raise _strange(answer, f"expected {len(urls)} pages")
        return [None if each is None else as_value(Page, each) for each in said]

    # a question, though it is posted
    body = {"urls": list(urls), "formats": _checked_formats(formats)}
    return _post("/v1/lookup", body, read, is_idempotent=True)


def fetch(
    asked: str,
    wait_seconds: float,
    max_age: float | str | None,
    formats: Iterable[str] | None,
    image: bool | None,
) -> Request[Page]:
    def read(answer: Answer) -> Page:
        if answer.status != 202:
            return _one(answer, Page)
        said = _said(answer).get("job")
        job = as_value(Job, {"id": said} if isinstance(said, str) else said)
        if not job.id:
            raise _strange(answer, "it has neither a page nor the id of a job")
        job_id = one_line(job.id, _SHOWN)
        raise NotFetchedYet(
            f"{one_line(asked, _SHOWN)} is not fetched yet: the service goes on with it, as job"
            f" {job_id}; wait({job_id!r}) waits for it",
            job.id,
        )

    _require_text(asked, "fetch: expected a URL")
    path = f"/v1/fetch?wait={wait_seconds:g}s"
    body = {
        "url": asked,
        "max_age": _checked_age(max_age),
        "formats": _checked_formats(formats),
        "image": image,
    }
    return _post(path, body, read, is_idempotent=False, waits_seconds=wait_seconds)


def search(query: str, limit: int) -> Request[list[SearchHit]]:
    _require_text(query, "search: expected a query")
    path = "/v1/search?" + urlencode({"q": query, "limit": limit})
    return _get(path, lambda answer: _list(answer, "hits", SearchHit))


def scope(
    hosts: Iterable[str] | None,
    domains: Iterable[str] | None,
    prefix: str | None,
    include: Iterable[str] | None,
    exclude: Iterable[str] | None,
) -> dict[str, Any]:
    """Where the crawl of a site may go."""
    lists = {"hosts": hosts, "domains": domains, "include": include, "exclude": exclude}
    for name, values in lists.items():
        if isinstance(values, str):
            raise UsageError(f"{name}: expected a list, got one text")
    listed = {name: None if each is None else list(each) for name, each in lists.items()}
    return {**listed, "prefix": prefix}


def start_crawl(
    seeds: Iterable[str],
    scope: Mapping[str, Any],
    limits: Mapping[str, Any],
    formats: Iterable[str] | None,
    image: bool | None,
) -> Request[CrawlStatus]:
    body = {
        "seeds": list(seeds),
        "scope": _given(scope),
        "limits": _given(limits),
        "formats": _checked_formats(formats),
        "image": image,
    }
    if not body["seeds"]:
        raise UsageError("crawl_site: expected at least one seed")
    return _post("/v1/crawls", body, lambda answer: _one(answer, CrawlStatus), is_idempotent=False)


def crawl_status(crawl_id: str) -> Request[CrawlStatus]:
    _require_text(crawl_id, "site_crawl: expected the id of a crawl")
    return _get(_of_crawl(crawl_id), lambda answer: _one(answer, CrawlStatus))


def cancel_crawl(crawl_id: str) -> Request[None]:
    # to cancel what is cancelled, or gone, is no fault: the first attempt may have arrived
    return Request("DELETE", _of_crawl(crawl_id), lambda answer: None)


def events(path: str, last_id: str) -> Request[None]:
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    if last_id:
        headers["Last-Event-ID"] = last_id
    return Request("GET", path, lambda answer: None, headers=headers)


def pages_path(crawl_id: str) -> str:
    return f"{_of_crawl(crawl_id)}/pages"


def fault_of(answer: Answer, now_ms: int) -> ServiceFault | None:
    """What an answer complains of; None where it does not."""
    if 200 <= answer.status < 300:
        return None
    code, message, details = "", "", None
    try:
        said = msgspec.json.decode(answer.body)["error"]
        code, message = str(said.get("code", "")), str(said.get("message", ""))
        details = said.get("details")
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        pass  # something before the service answered, a proxy perhaps
    code, message = one_line(code, 100), one_line(message, _SHOWN)
    shown = message or f"answered with HTTP status {answer.status}"
    return ServiceFault(
        f"the service: {shown}" + (f" ({code})" if code else ""),
        status=answer.status,
        code=code,
        details=details,
        retry_after_seconds=_retry_after(answer.headers.get("retry-after", ""), now_ms),
    )


def _retry_after(said: str, now_ms: int) -> float | None:
    """Seconds, or a moment of HTTP."""
    said = said.strip()
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - now_ms / 1000)
    except (ValueError, OverflowError):
        return None


def result_of(request: Request[Result], answer: Answer) -> Result:
    """What a good answer says; one that is none of the interface is a fault."""
    try:
        return request.read(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _strange(answer, str(error)) from error


def _get(path: str, read: Callable[[Answer], Result]) -> Request[Result]:
    return Request("GET", path, read)


def _post(
    path: str,
    body: Mapping[str, Any],
    read: Callable[[Answer], Result],
    *,
    is_idempotent: bool,
    waits_seconds: float = 0.0,
) -> Request[Result]:
    try:
        content = msgspec.json.encode(_given(body))
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{path.partition('?')[0]}: {one_line(str(error), _SHOWN)}") from error
    headers = {"Content-Type": "application/json"}
    return Request("POST", path, read, content, headers, is_idempotent, waits_seconds)


def _require_text(value: object, expected: str) -> None:
    """UsageError for what no service could take for a text."""
    if not isinstance(value, str):
        raise UsageError(f"{expected}, got {type(value).__name__}")
    if not value:
        raise UsageError(f"{expected}, got an empty text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{expected}, got a text with half a character") from None


def _checked_age(max_age: float | str | None) -> float | str | None:
    """The age as it is sent: the service knows which texts are one."""
    if max_age is None or isinstance(max_age, str):
        return max_age
    if isinstance(max_age, bool) or not isinstance(max_age, int | float):
        raise UsageError(f"max_age: expected seconds or a text, got {type(max_age).__name__}")
    if not 0 <= max_age < math.inf:
        raise UsageError(f"max_age: expected seconds, 0 or more, got {max_age}")
    return max_age


def _checked_formats(formats: Iterable[str] | None) -> list[str] | None:
    """What is wanted of a page; the service knows which there are."""
    if isinstance(formats, str):
        raise UsageError("formats: expected a list, got one text")
    return None if formats is None else list(formats)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _of_crawl(crawl_id: str) -> str:
    return f"/v1/crawls/{quote(crawl_id, safe='')}"


def _said(answer: Answer) -> dict[str, Any]:
    said: dict[str, Any] = msgspec.json.decode(answer.body, type=dict[str, Any])
    return said


Kind = TypeVar("Kind", bound=msgspec.Struct)


def _one(answer: Answer, kind: type[Kind]) -> Kind:
    return as_value(kind, _said(answer))


def _list(answer: Answer, name: str, kind: type[Kind]) -> list[Kind]:
    said = _said(answer).get(name)
    if not isinstance(said, list):
        raise _strange(answer, f"it has no list `{name}`")
    return [as_value(kind, each) for each in said]


def _strange(answer: Answer, why: str) -> ServiceFault:
    return ServiceFault(
        f"the service's answer is not understood: {one_line(why, _SHOWN)}", status=answer.status
    )
