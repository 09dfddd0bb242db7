"""Every endpoint as a value: from it come the route, the access that it needs, and its part of the
OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crawl.search.query_text import LONGEST as LONGEST_QUERY
from crawl.service.api import bodies
from crawl.service.api.gate import Handle
from crawl.service.api.handlers import MAX_WAIT_S, Handlers
from crawl.service.api.streams import MAX_WORD, MAX_WORDS, MOST_NUMBER, PAGE_NUMBER_PATTERN, Streams
from crawl.service.api.webhook_handlers import WebhookHandlers, WebhookWish
from crawl.service.callers.scope import Scope


@dataclass(frozen=True, slots=True)
class Parameter:
    """What may be said in an address or a header."""

    name: str
    about: str
    schema: Mapping[str, Any]
    place: str = "query"
    is_required: bool = False
    example: str | int | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    method: str
    path: str
    scope: Scope | None
    """None: whoever reaches the service may ask."""
    handle: Handle
    summary: str
    answers: Mapping[int, str]
    """What comes where it goes well, by status."""
    body: type[Any] | None = None
    example: Mapping[str, Any] | None = None
    parameters: tuple[Parameter, ...] = ()
    media_types: tuple[str, ...] = ("application/json",)
    refusals: tuple[int, ...] = field(default=())
    """Statuses beside those that every endpoint may answer with."""
    schemas: Mapping[int, str] = field(default_factory=dict)
    """Of the answers, by status (answers.py)."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Operations that go on with what was made, and how their parameters are had of the answer."""


_TEXT = {"type": "string", "minLength": 1, "maxLength": bodies.MAX_QUERY}
_QUERY = {**_TEXT, "maxLength": LONGEST_QUERY}
_WORD = {"type": "string", "minLength": 1, "maxLength": MAX_WORD}
_WORDS = {"type": "array", "items": _WORD, "maxItems": MAX_WORDS}
_URL = Parameter("url", "The URL.", _TEXT, is_required=True, example="https://example.org/news/1")
_LAST_EVENT = Parameter(
    "Last-Event-ID",
    "Goes on behind this event.",
    {"type": "string"},
    "header",
    example="1795095149063-17",
)
_LAST_PAGE = Parameter(
    "Last-Event-ID",
    "The same, as a client of server-sent events says it.",
    {"type": "string", "pattern": PAGE_NUMBER_PATTERN},
    "header",
    example="3",
)
_MADE_CRAWL = {"crawl": "$response.body#/id"}
_MADE_WEBHOOK = {"webhook": "$response.body#/id"}


def _whole(least: int, most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


def endpoints(
    handlers: Handlers, streams: Streams, webhooks: WebhookHandlers
) -> tuple[Endpoint, ...]:
    """All of them."""
    return (
        Endpoint(
            *("POST", "/v1/urls", Scope.SUBMIT, handlers.submit),
            "Submits one URL, several, or a text that has some. They are stored when the answer "
            "comes: nothing that was acknowledged is lost.",
            {202: "What became of each URL: queued, joined, answered, or refused with the reason."},
            bodies.Submission,
            {"urls": ["https://example.org/a", {"url": "https://example.org/b", "max_age": 0}]},
            schemas={202: "Submitted"},
            links={"handlers_job": {"job": "$response.body#/jobs/0/id"}},
        ),
        Endpoint(
            *("GET", "/v1/jobs/{job}", Scope.LOOKUP, handlers.job),
            "What became of a submitted URL.",
            {200: "The job; `state` says whether it ended."},
            schemas={200: "Job"},
            refusals=(404,),
        ),
        Endpoint(
            *("GET", "/v1/url", Scope.LOOKUP, handlers.url),
            "What is known of a URL, redirects followed.",
            {200: "Its page, or why there is none."},
            schemas={200: "Page"},
            parameters=(
                _URL,
                Parameter(
                    "formats",
                    "`markdown`: with the main text, null where nobody asked for it before.",
                    {"type": "string", "enum": ["metadata", "markdown", "metadata,markdown"]},
                ),
            ),
            refusals=(404,),
        ),
        Endpoint(
            *("POST", "/v1/lookup", Scope.LOOKUP, handlers.lookup),
            "What is known of some URLs; nothing is fetched.",
            {200: "A page, or null, for each URL, in their order."},
            bodies.Lookup,
            {"urls": ["https://example.org/a", "https://example.org/b"]},
            schemas={200: "Pages"},
        ),
        Endpoint(
            *("POST", "/v1/fetch", Scope.FETCH, handlers.fetch),
            "The page of a URL: what is known and fresh enough at once, else what is fetched now.",
            {200: "The page.", 202: "It takes longer: the job, and where to look."},
            bodies.Fetch,
            {"url": "https://example.org/a", "max_age": "1h"},
            (
                Parameter(
                    "wait",
                    f"How long to wait, such as 5s; never more than {MAX_WAIT_S:g}s.",
                    {"type": "string", "default": "5s", "pattern": bodies.AGE_PATTERN},
                    example="10s",
                ),
            ),
            schemas={200: "Page", 202: "Awaited"},
            links={"handlers_job": {"job": "$response.body#/job/id"}},
            refusals=(422,),
        ),
        Endpoint(
            *("GET", "/v1/search", Scope.SEARCH, handlers.search),
            "The best pages for a query, those of the last seconds among them.",
            {200: "The hits, best first."},
            schemas={200: "Hits"},
            parameters=(
                Parameter("q", "The query.", _QUERY, is_required=True, example="lighthouse keeper"),
                Parameter("limit", "How many hits.", _whole(1, 100, 10), example=10),
                Parameter("offset", "Hits that are passed over.", _whole(0, 900, 0), example=0),
            ),
            refusals=(404, 501),
        ),
        Endpoint(
            *("GET", "/v1/events", Scope.LOOKUP, streams.events),
            "Finished URLs as they come (server-sent events).",
            {200: "Events named `finished`; `lagged` where some were missed."},
            parameters=(
                Parameter("crawl", "Only of this site crawl.", _WORD),
                Parameter("tag", "Only with one of these tags.", _WORDS),
                Parameter("host", "Only of these hosts, and those below.", _WORDS),
                _LAST_EVENT,
            ),
            media_types=("text/event-stream",),
        ),
        Endpoint(
            *("POST", "/v1/crawls", Scope.CRAWL, handlers.start_crawl),
            "Crawls a site at once: links are queued as they are found.",
            {201: "The crawl."},
            bodies.SiteWish,
            {"seeds": ["https://example.org/"], "limits": {"pages": 100}},
            schemas={201: "Crawl"},
            links={
                "handlers_crawl": _MADE_CRAWL,
                "handlers_cancel_crawl": _MADE_CRAWL,
                "streams_pages": _MADE_CRAWL,
            },
            refusals=(422,),
        ),
        Endpoint(
            *("GET", "/v1/crawls", Scope.CRAWL, handlers.crawls),
            "Your crawls, oldest first.",
            {200: "The crawls."},
            schemas={200: "Crawls"},
            parameters=(Parameter("limit", "The last so many.", _whole(1, 1000, 100), example=10),),
        ),
        Endpoint(
            *("GET", "/v1/crawls/{crawl}", Scope.CRAWL, handlers.crawl),
            "How far a crawl is.",
            {200: "The crawl."},
            schemas={200: "Crawl"},
            refusals=(404,),
        ),
        Endpoint(
            *("DELETE", "/v1/crawls/{crawl}", Scope.CRAWL, handlers.cancel_crawl),
            "Cancels a crawl: what waits is not asked for.",
            {200: "The crawl, which has ended."},
            schemas={200: "Crawl"},
            refusals=(404,),
        ),
        Endpoint(
            *("GET", "/v1/crawls/{crawl}/pages", Scope.CRAWL, streams.pages),
            "The pages of a crawl as they come, from the first on, by the header Accept as "
            "server-sent events, JSON lines or Markdown.",
            {200: "The pages; the answer ends with the crawl."},
            parameters=(
                Parameter(
                    "after", "Goes on behind the page of this number.", _whole(0, MOST_NUMBER, 0)
                ),
                Parameter("limit", "Ends after so many pages.", _whole(1, 10**7, 10**7)),
                Parameter(
                    "wait",
                    f"Waits for pages for so long, such as 5s; never more than {MAX_WAIT_S:g}s."
                    " Without it the answer ends with the crawl.",
                    {"type": "string", "pattern": bodies.AGE_PATTERN},
                    example="5s",
                ),
                _LAST_PAGE,
            ),
            media_types=("application/x-ndjson", "text/event-stream", "text/markdown"),
            refusals=(404, 406),
        ),
        *_webhook_endpoints(webhooks),
        Endpoint(
            *("GET", "/healthz", None, handlers.health),
            "Whether the process works.",
            {200: "It does."},
            refusals=(500,),
        ),
        Endpoint(
            *("GET", "/readyz", None, handlers.ready),
            "Whether requests would be served now: queue and stores can be reached.",
            {200: "They would."},
            refusals=(503,),
        ),
    )


def _webhook_endpoints(webhooks: WebhookHandlers) -> tuple[Endpoint, ...]:
    path, scope = "/v1/webhooks/{webhook}", Scope.WEBHOOKS
    return (
        Endpoint(
            *("POST", "/v1/webhooks", scope, webhooks.add),
            "Registers an address that is told of finished URLs, signed (Standard Webhooks).",
            {201: "The webhook, with its secret, which is told this once."},
            WebhookWish,
            {"url": "https://example.org/hook", "tags": ["newsroom"]},
            schemas={201: "NewWebhook"},
            links={
                f"webhookhandlers_{name}": _MADE_WEBHOOK
                for name in ("get", "resume", "dead_letters", "redeliver", "purge", "remove")
            },
            refusals=(422,),
        ),
        Endpoint(
            *("GET", "/v1/webhooks", scope, webhooks.list),
            "Your webhooks.",
            {200: "The webhooks."},
            schemas={200: "Webhooks"},
        ),
        Endpoint(
            *("GET", path, scope, webhooks.get),
            "One webhook.",
            {200: "It."},
            schemas={200: "Webhook"},
            refusals=(404,),
        ),
        Endpoint(
            *("DELETE", path, scope, webhooks.remove),
            "Forgets a webhook.",
            {204: "It is forgotten."},
            refusals=(404,),
        ),
        Endpoint(
            *("POST", f"{path}/resume", scope, webhooks.resume),
            "Delivers again to a webhook that was paused.",
            {200: "The webhook."},
            schemas={200: "Webhook"},
            refusals=(404,),
        ),
        Endpoint(
            *("GET", f"{path}/dead", scope, webhooks.dead_letters),
            "Deliveries that were given up, oldest first.",
            {200: "Up to a hundred."},
            parameters=(Parameter("after", "Goes on behind this key.", _WORD),),
            refusals=(404,),
        ),
        Endpoint(
            *("POST", f"{path}/dead/redeliver", scope, webhooks.redeliver),
            "Tries all deliveries that were given up again.",
            {202: "How many."},
            refusals=(404,),
        ),
        Endpoint(
            *("DELETE", f"{path}/dead", scope, webhooks.purge),
            "Forgets all deliveries that were given up.",
            {200: "How many."},
            refusals=(404,),
        ),
    )
