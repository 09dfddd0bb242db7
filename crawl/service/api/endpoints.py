"""Every endpoint as a value: from it come the route, the access that it needs, and its part of the
OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crawl.service.api import bodies
from crawl.service.api.gate import Handle
from crawl.service.api.handlers import MAX_WAIT_S, Handlers
from crawl.service.api.streams import Streams
from crawl.service.api.webhook_handlers import WebhookHandlers, WebhookWish
from crawl.service.scope import Scope


@dataclass(frozen=True, slots=True)
class Parameter:
    """What may be said in an address or a header."""

    name: str
    about: str
    schema: Mapping[str, Any]
    place: str = "query"
    is_required: bool = False


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


_TEXT = {"type": "string"}
_URL = Parameter(
    "url", "The URL.", {"type": "string", "maxLength": bodies.MAX_QUERY}, is_required=True
)
_LAST_EVENT = Parameter("Last-Event-ID", "Goes on behind this one.", _TEXT, "header")


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
            refusals=(413, 415, 429),
        ),
        Endpoint(
            *("GET", "/v1/jobs/{job}", Scope.LOOKUP, handlers.job),
            "What became of a submitted URL.",
            {200: "The job; `state` says whether it ended."},
            refusals=(404,),
        ),
        Endpoint(
            *("GET", "/v1/url", Scope.LOOKUP, handlers.url),
            "What is known of a URL, redirects followed.",
            {200: "Its page, or why there is none."},
            parameters=(
                _URL,
                Parameter(
                    "formats",
                    "`markdown`: with the main text, null where nobody asked for it before.",
                    {"type": "string", "enum": ["metadata", "markdown", "metadata,markdown"]},
                ),
            ),
            refusals=(404, 429),
        ),
        Endpoint(
            *("POST", "/v1/lookup", Scope.LOOKUP, handlers.lookup),
            "What is known of some URLs; nothing is fetched.",
            {200: "A page, or null, for each URL, in their order."},
            bodies.Lookup,
            {"urls": ["https://example.org/a", "https://example.org/b"]},
            refusals=(413, 415, 429),
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
                    f"How long to wait, such as 5s; at most {MAX_WAIT_S:g}s.",
                    {"type": "string", "default": "5s"},
                ),
            ),
            refusals=(413, 415, 422, 429),
        ),
        Endpoint(
            *("GET", "/v1/search", Scope.SEARCH, handlers.search),
            "The best pages for a query, those of the last seconds among them.",
            {200: "The hits, best first."},
            parameters=(
                Parameter("q", "The query.", {"type": "string"}, is_required=True),
                Parameter("limit", "How many hits.", _whole(1, 100, 10)),
                Parameter("offset", "Hits that are passed over.", _whole(0, 900, 0)),
            ),
            refusals=(404, 429, 501),
        ),
        Endpoint(
            *("GET", "/v1/events", Scope.LOOKUP, streams.events),
            "Finished URLs as they come (server-sent events).",
            {200: "Events named `finished`; `lagged` where some were missed."},
            parameters=(
                Parameter("crawl", "Only of this site crawl.", _TEXT),
                Parameter("tag", "Only with one of these tags.", _TEXT),
                Parameter("host", "Only of these hosts, and those below.", _TEXT),
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
            refusals=(413, 415, 429),
        ),
        Endpoint(
            *("GET", "/v1/crawls", Scope.CRAWL, handlers.crawls),
            "Your crawls, oldest first.",
            {200: "The crawls."},
            parameters=(Parameter("limit", "The last so many.", _whole(1, 1000, 100)),),
        ),
        Endpoint(
            *("GET", "/v1/crawls/{crawl}", Scope.CRAWL, handlers.crawl),
            "How far a crawl is.",
            {200: "The crawl."},
            refusals=(404,),
        ),
        Endpoint(
            *("DELETE", "/v1/crawls/{crawl}", Scope.CRAWL, handlers.cancel_crawl),
            "Cancels a crawl: what waits is not asked for.",
            {200: "The crawl, which has ended."},
            refusals=(404,),
        ),
        Endpoint(
            *("GET", "/v1/crawls/{crawl}/pages", Scope.CRAWL, streams.pages),
            "The pages of a crawl as they come, from the first on, by the header Accept as "
            "server-sent events, JSON lines or Markdown.",
            {200: "The pages; the answer ends with the crawl."},
            parameters=(
                Parameter("after", "Goes on behind the page of this number.", _TEXT),
                _LAST_EVENT,
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
            refusals=(413, 415),
        ),
        Endpoint(
            *("GET", "/v1/webhooks", scope, webhooks.list), "Your webhooks.", {200: "The webhooks."}
        ),
        Endpoint(
            *("GET", path, scope, webhooks.get), "One webhook.", {200: "It."}, refusals=(404,)
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
            refusals=(404,),
        ),
        Endpoint(
            *("GET", f"{path}/dead", scope, webhooks.dead_letters),
            "Deliveries that were given up, oldest first.",
            {200: "Up to a hundred."},
            parameters=(Parameter("after", "Goes on behind this key.", _TEXT),),
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


_REFUSALS = {
    400: "The request cannot be meant; `message` names the place.",
    401: "A key is needed, or it is none.",
    403: "The key, or the sender, may not do this.",
    404: "There is no such thing.",
    406: "None of the types in Accept can be had.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The URL was not fetched; `code` is the reason.",
    429: "Too much: come back after Retry-After.",
    500: "A fault of the service.",
    501: "The service lacks a part.",
    503: "A store cannot be reached, or the service ends: come back after Retry-After.",
}
_ALWAYS = (400, 401, 403, 503)


def openapi(all_endpoints: tuple[Endpoint, ...], version: str) -> dict[str, Any]:
    """The description of the interface (OpenAPI 3.1)."""
    types = [each.body for each in all_endpoints if each.body is not None]
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, dict[str, Any]] = {}
    for each in all_endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": _TEXT, "message": _TEXT, "details": {}},
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Nutria",
            "version": version,
            "summary": "URLs in, their pages known within seconds.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": error},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key."}
            },
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {
        str(status): _success(endpoint, status, about) for status, about in endpoint.answers.items()
    }
    always = () if endpoint.scope is None else _ALWAYS
    for status in sorted({*always, *endpoint.refusals}):
        schema = {"schema": {"$ref": "#/components/schemas/Error"}}
        responses[str(status)] = {
            "description": _REFUSALS[status],
            "content": {"application/json": schema},
        }
    operation: dict[str, Any] = {
        "operationId": endpoint.handle.__qualname__.rpartition(".")[0].lower()
        + "_"
        + endpoint.handle.__name__,
        "summary": endpoint.summary,
        "responses": responses,
        "parameters": [*_path_parameters(endpoint.path), *map(_parameter, endpoint.parameters)],
    }
    if endpoint.scope is not None:
        operation["security"] = [{}, {"key": []}]
    if endpoint.body is not None:
        (schema,), _ = msgspec.json.schema_components(
            [endpoint.body], ref_template="#/components/schemas/{name}"
        )
        content: dict[str, Any] = {"schema": schema}
        if endpoint.example is not None:
            content["example"] = endpoint.example
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _success(endpoint: Endpoint, status: int, about: str) -> dict[str, Any]:
    if status == 204:
        return {"description": about}
    return {"description": about, "content": {kind: {} for kind in endpoint.media_types}}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in names]


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.about,
        "required": parameter.is_required,
        "schema": dict(parameter.schema),
    }
